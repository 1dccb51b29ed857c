#!/bin/sh
# Makes a certificate authority and certificates of a server and a client that last for a century, for tests alone.
set -e
cd "$(dirname "$0")"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca-key.pem -out ca-cert.pem \
    -subj "/CN=ssdlab tests" -days 36500 -addext basicConstraints=critical,CA:TRUE
for name in server client; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name-key.pem -out $name.csr -subj "/CN=$name"
    printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' > extensions
    openssl x509 -req -in $name.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -days 36500 \
        -extfile extensions -out $name-cert.pem
done
rm -f extensions ca-key.pem ca-cert.srl ./*.csr
