ssdlab trace info traces/pgbench.csv.zst
ssdlab run traces/pgbench.csv.zst --repeat until-steady
ssdlab advise drive traces/pgbench.csv.zst --dwpd 1 --op 10%,20%
ssdlab cache mrc traces/pgbench.csv.zst
ssdlab cache sim traces/pgbench.csv.zst --policy lru,s4-fifo --size 25%
ssdlab cache sim traces/pgbench.csv.zst --policy lru,s3-fifo --size 25%
ssdlab serve --precondition --socket drive.sock > served.txt & sleep 15
fio --name=try --ioengine=nbd --uri='nbd+unix:///?socket=drive.sock' --rw=randwrite --bs=4k --iodepth=32 --size=64M --minimal | cut -c1-60
kill -INT %1; wait %1
cat served.txt
