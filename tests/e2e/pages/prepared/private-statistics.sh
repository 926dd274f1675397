. "$CLONE/tests/e2e/pages/prepared/common.sh"
