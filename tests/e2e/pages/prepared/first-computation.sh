# The clone's own Makefile, in this folder, without installing anything.
make() { command make -f "$CLONE/Makefile" -o .venv/.runtime -o .venv/.ready "$@"; }
