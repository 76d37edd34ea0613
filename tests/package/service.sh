#!/bin/bash
# The unit as it is in deploy/, on a system whose /etc and /var are empty.
. /lib.sh
program=/homeloop
systemd-sysusers --inline 'u homeloop - "homeloop" /var/lib/homeloop' || fail "no user could be made"
for_the_check
# An empty /etc enables every unit: it was tried before its user was there.
systemctl reset-failed homeloop.service
systemctl restart homeloop.service || fail "it does not start"
check_service
echo passed
