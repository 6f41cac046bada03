# Thin on purpose: each target is a script in scripts/, which can be run by itself.
.PHONY: help demo test torture build bench check setup clean

help:
	@echo 'make demo    build and serve the demo application'
	@echo 'make test    all tests: native, browser, unit, end to end'
	@echo 'make torture the same to browsers as in make test, hundreds of times (40 minutes)'
	@echo 'make check   format, lints, types, package and size checks'
	@echo 'make build   the npm package, in pkg/'
	@echo 'make bench   the benchmarks'
	@echo 'make setup   install what is missing (the others do it by themselves)'
	@echo 'make clean   remove all that was built'

demo test torture build bench check setup clean:
	@scripts/$@.sh || { echo 'make $@ FAILED: the reason is above' >&2; exit 1; }
