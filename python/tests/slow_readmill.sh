#!/bin/sh
# Stands for readmill. Each stage waits before it starts, and notes down that it does, so that a test can kill it then.
case ${2-} in
    plan | graph | status | clean) ;;
    *)
        echo "$2 ${5-} $$" >>"$SLOW_READMILL_STATE"
        sleep "$(cat "$SLOW_READMILL_STATE.seconds")"
        # A clock that is wrong, where a test asks for one: times of files stay as they are.
        clock=$(cat "$SLOW_READMILL_STATE.clock" 2>/dev/null || true)
        if [ -n "$clock" ]; then
            export NO_FAKE_STAT=1 FAKETIME_DONT_FAKE_MONOTONIC=1
            exec faketime -f "$clock" "$REAL_READMILL" "$@"
        fi
        ;;
esac
exec "$REAL_READMILL" "$@"
