ssdlab trace convert traces/oltp.csv.zst oltp_0.csv --to msr
head -2 oltp_0.csv
ssdlab run oltp_0.csv
ssdlab compare oltp_0.csv --case page --case dftl --case fast --rows waf,read.p99,write.p99,flash
ssdlab compare oltp_0.csv --preset small-tlc --fit compact --case page --case dftl --case fast --rows waf,read.p99,write.p99,flash
ssdlab compare oltp_0.csv --preset small-tlc --fit compact --set device.op=14% --case page --case dftl --case fast --rows waf,read.p99,write.p99,flash
ssdlab compare oltp_0.csv --preset small-tlc --fit compact --set device.op=14% --replay closed --case page --case dftl --case fast --rows waf,read.p99,write.p99,flash
ssdlab compare oltp_0.csv --case greedy --case lru
ssdlab compare oltp_0.csv --case greedy --case cost_benefit --repeat until-steady --rows waf,read.p99,write.p99 --table latex --out policies --figure latency,waf
ls policies
