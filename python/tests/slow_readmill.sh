#!/bin/sh
# Stands for readmill. Each stage waits before it starts, and notes down that it does, so that a test can kill it then.
case ${2-} in
    plan | graph | status | clean) ;;
    *)
        echo "$2 ${5-} $$" >>"$SLOW_READMILL_STATE"
        sleep "$(cat "$SLOW_READMILL_STATE.seconds")"
        ;;
esac
exec "$REAL_READMILL" "$@"
