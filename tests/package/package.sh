#!/bin/bash
# The package: installed, upgraded, removed, installed again, purged.
. /lib.sh
program=/usr/bin/homeloop
export DEBIAN_FRONTEND=noninteractive
for_the_check

dpkg -i /out/first.deb || fail "it cannot be installed"
is "installed" "install ok installed 0.1.0-1" "$(dpkg-query -W -f '${Status} ${Version}' homeloop)"
is "it depends on certificate authorities" yes \
  "$(dpkg-query -W -f '${Depends}' homeloop | grep -q ca-certificates && echo yes)"
is "started and enabled by the installation" "active enabled" \
  "$(property ActiveState) $(systemctl is-enabled homeloop.service)"
for file in /etc/homeloop/homeloop.toml /usr/share/man/man1/homeloop.1.gz \
  /usr/share/bash-completion/completions/homeloop /usr/share/zsh/vendor-completions/_homeloop \
  /usr/share/fish/vendor_completions.d/homeloop.fish /usr/share/doc/homeloop/mosquitto.acl; do
  [ -e "$file" ] || fail "$file is missing"
done
echo "ok: configuration, manual page, completions and examples are there"
is "the settings can be used" yes "$(homeloop check | grep -q '^settings: 1 file' && echo yes)"
check_service

echo '# changed by the owner' >>/etc/homeloop/homeloop.toml
before=$(main_pid)
dpkg -i /out/second.deb || fail "it cannot be upgraded"
is "upgraded" "install ok installed 0.1.0-2" "$(dpkg-query -W -f '${Status} ${Version}' homeloop)"
is "the owner's settings are kept" yes "$(grep -q 'changed by the owner' /etc/homeloop/homeloop.toml && echo yes)"
until_true "the new one runs" is_another "$before"
until_true "it is ready after the upgrade" is_ready
is "the state is kept over an upgrade" yes "$(ask "what is on the shopping list" | grep -q milk && echo yes)"

dpkg -r homeloop || fail "it cannot be removed"
is "stopped by the removal" inactive "$(property ActiveState)"
[ -e /usr/bin/homeloop ] && fail "the program is still there"
[ -e /var/lib/homeloop/journal.db ] || fail "the state is gone after a removal"
[ -e /etc/homeloop/homeloop.toml ] || fail "the settings are gone after a removal"
echo "ok: removed, state and settings kept"
dpkg -i /out/second.deb || fail "it cannot be installed again"
until_true "it is ready again" is_ready
is "the state is there again" yes "$(ask "what is on the shopping list" | grep -q milk && echo yes)"

dpkg -P homeloop || fail "it cannot be purged"
[ -e /var/lib/homeloop ] && fail "the state is still there after a purge"
[ -e /etc/homeloop ] && fail "the settings are still there after a purge"
getent passwd homeloop >/dev/null && fail "the account is still there after a purge"
systemctl is-enabled homeloop.service 2>/dev/null && fail "the unit is still enabled after a purge"
echo "ok: purged, nothing is left"
echo passed
