# Thin on purpose: each target is a script in scripts/, which can be run by itself.
.PHONY: help demo test build bench check setup clean

help:
	@echo 'make demo    build and serve the demo application'
	@echo 'make test    all tests: native, browser, unit, end to end'
	@echo 'make check   format, lints, types, package and size checks'
	@echo 'make build   the npm package, in pkg/'
	@echo 'make bench   the benchmarks'
	@echo 'make setup   install what is missing (the others do it by themselves)'
	@echo 'make clean   remove all that was built'

demo test build bench check setup clean:
	@scripts/$@.sh || { echo 'make $@ FAILED: the reason is above' >&2; exit 1; }
