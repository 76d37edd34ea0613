# What the checks share. Every step says what it looks at; the first that fails ends the check.
exec >/out/said 2>&1
set -u

fail() {
  echo "FAILED: $*"
  journalctl --no-pager -u homeloop.service 2>/dev/null | tail -n 20
  systemctl status --no-pager homeloop.service 2>/dev/null | head -n 12
  exit 1
}

# is WHAT EXPECTED FOUND
is() {
  [ "$2" = "$3" ] || fail "$1: expected $2, found $3"
  echo "ok: $1 ($3)"
}

# until WHAT COMMAND...: tries for a minute.
until_true() {
  local what=$1
  shift
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then
      echo "ok: $what"
      return
    fi
    sleep 0.2
  done
  fail "$what: not within a minute"
}

property() {
  systemctl show --property="$1" --value homeloop.service
}

# of_status FIELD FILE: a field of /proc/PID/status.
of_status() {
  sed -n "s/^$1:[[:space:]]*//p" "$2"
}

main_pid() {
  property MainPID
}

# The body of an answer of the HTTP server, without any tool.
http() {
  exec 3<>/dev/tcp/127.0.0.1/8124 || return 1
  printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&3
  cat <&3
  exec 3>&-
}

is_ready() {
  http /readyz | grep -q '"ready":true'
}

ask() {
  "$program" --token-file /var/lib/homeloop/first-token ask --quiet "$@"
}

# Starts, is ready, is confined, survives a freeze and a kill, keeps its state, and stops in order.
check_service() {
  until_true "it is ready" is_ready
  is "its state as systemd sees it" active "$(property ActiveState)"
  local status=/proc/$(main_pid)/status
  is "it runs as its own user" homeloop "$(stat -c %U "/proc/$(main_pid)")"
  is "no capabilities" 0000000000000000 "$(of_status CapEff "$status")"
  is "no new privileges" 1 "$(of_status NoNewPrivs "$status")"
  is "system calls are filtered" 2 "$(of_status Seccomp "$status")"
  is "the state directory is its own" "homeloop 750" "$(stat -Lc '%U %a' /var/lib/homeloop)"
  is "the token is for its user alone" 600 "$(stat -c %a /var/lib/homeloop/first-token)"
  ask "add milk to the shopping list" || fail "a command was not carried out"

  local before
  before=$(main_pid)
  kill -STOP "$before"
  until_true "the watchdog restarts what is frozen" is_another "$before"
  until_true "it is ready again" is_ready
  is "the state is kept over the watchdog" yes "$(ask "what is on the shopping list" | grep -q milk && echo yes)"

  before=$(main_pid)
  kill -KILL "$before"
  until_true "it is restarted after a crash" is_another "$before"
  until_true "it is ready again" is_ready

  systemctl reload homeloop.service || fail "it cannot be reloaded"
  is "it runs on after a reload" active "$(property ActiveState)"
  systemctl stop homeloop.service
  is "it stops in order" "success 0" "$(property Result) $(property ExecMainStatus)"
  systemctl start homeloop.service || fail "it does not start again"
  until_true "it is ready after a stop" is_ready
  is "the state is kept over a stop" yes "$(ask "what is on the shopping list" | grep -q milk && echo yes)"
}

is_another() {
  local now
  now=$(main_pid)
  [ "$now" != 0 ] && [ "$now" != "$1" ]
}

# A watchdog of seconds, and the embedded broker: no other is there.
for_the_check() {
  mkdir -p /run/systemd/system/homeloop.service.d
  cat >/run/systemd/system/homeloop.service.d/check.conf <<'DROP'
[Service]
WatchdogSec=3
RestartSec=100ms
Environment=HOMELOOP__MQTT__BROKER=embedded
DROP
  systemctl daemon-reload
}
