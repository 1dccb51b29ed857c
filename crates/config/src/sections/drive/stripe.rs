//! The orders in which successive pages are spread over the array.

use crate::kind::Choices;
use ssdlab_nand::{Level, StripeOrder};

macro_rules! level {
    (C) => {
        Level::Channel
    };
    (W) => {
        Level::Way
    };
    (D) => {
        Level::Die
    };
    (P) => {
        Level::Plane
    };
}

macro_rules! word {
    (C) => {
        "channel"
    };
    (W) => {
        "way"
    };
    (D) => {
        "die"
    };
    (P) => {
        "plane"
    };
}

macro_rules! orders {
    ($($first:tt $second:tt $third:tt $fourth:tt,)*) => {
        Choices::new([$((
            concat!(stringify!($first), stringify!($second), stringify!($third), stringify!($fourth)),
            concat!(word!($first), ", ", word!($second), ", ", word!($third), ", ", word!($fourth)),
            StripeOrder([level!($first), level!($second), level!($third), level!($fourth)]),
        )),*])
    };
}

/// Every order in which planes can follow each other.
#[rustfmt::skip]
pub(crate) static STRIPE_ORDERS: Choices<StripeOrder, 24> = orders![
    C W D P, C W P D, C D W P, C D P W, C P W D, C P D W,
    W C D P, W C P D, W D C P, W D P C, W P C D, W P D C,
    D C W P, D C P W, D W C P, D W P C, D P C W, D P W C,
    P C W D, P C D W, P W C D, P W D C, P D C W, P D W C,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    #[test]
    fn every_order_is_there_once() {
        let Kind::Choice(orders) = STRIPE_ORDERS.kind() else { panic!("a choice") };
        let distinct = orders.iter().enumerate().all(|(at, order)| !orders[..at].contains(order));
        assert!(orders.len() == 24 && distinct);
        assert_eq!(STRIPE_ORDERS.get(orders[0].name), Some(StripeOrder::CWDP));
        for order in orders {
            assert_eq!(STRIPE_ORDERS.get(order.name), StripeOrder::named(order.name));
        }
    }
}
