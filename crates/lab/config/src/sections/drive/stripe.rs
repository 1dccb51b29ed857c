//! Stripe orders: sequences of array levels that determine how successive pages are spread over the array.

use crate::kind::Kind;
use ssdlab_nand::StripeOrder;

const LEVELS: [(char, &str); 4] = [('C', "channel"), ('W', "way"), ('D', "die"), ('P', "plane")];

/// Returns the [`Kind`] of an option that chooses one of the 24 stripe orders.
pub(super) fn orders() -> Kind {
    let mut orders = Vec::new();
    for at in 0..256 {
        let levels = [at / 64, at / 16 % 4, at / 4 % 4, at % 4].map(|level| LEVELS[level]);
        let name: String = levels.iter().map(|(letter, _)| letter).collect();
        if StripeOrder::named(&name).is_some() {
            let name: &'static str = name.leak();
            orders.push((name, &*levels.map(|(_, word)| word).join(", ").leak()));
        }
    }
    Kind::of_names(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_a_choice() {
        let Kind::Choice(orders) = orders() else { panic!("a choice") };
        assert_eq!((orders.len(), orders[0].name, orders[0].help), (24, "CWDP", "channel, way, die, plane"));
    }
}
