# Everything that is done with Stead's source. `make run` needs Go and nothing else.
.DEFAULT_GOAL := help
.PHONY: packages help run build test test-all lint fmt bench openapi sdk schema thumbnails pictures web clean

# The program needs no C library; one setting for run and build also means one build cache.
GO_BUILD := CGO_ENABLED=0 go build

## run: build and start a shop with demo data in ./data (http://127.0.0.1:8080)
run: build
	exec bin/stead serve --demo

## build: build bin/stead
build:
	$(GO_BUILD) -o bin/stead ./cmd/stead

## test: run all tests with the race detector, on SQLite and PostgreSQL (installs PostgreSQL when missing)
test:
	@scripts/test

## test-all: the same, and the simulated year with a thousand services instead of 150
test-all:
	@scripts/test --all

## lint: check format, vet, linters, modules and generated files
lint:
	@scripts/lint

## fmt: format the source
fmt:
	gofmt -w $$(git ls-files '*.go')

## bench: run the benchmarks
bench:
	scripts/with-postgres go test -run '^$$' -bench . -benchmem ./...

## openapi: write api/openapi.json and api/admin.openapi.json from the operations
openapi:
	@mkdir -p api
	CGO_ENABLED=0 go run ./cmd/stead openapi > api/openapi.json.new
	mv api/openapi.json.new api/openapi.json
	CGO_ENABLED=0 go run ./cmd/stead openapi --staff > api/admin.openapi.json.new
	mv api/admin.openapi.json.new api/admin.openapi.json

## sdk: write the generated part of the SDKs in sdk/ from api/openapi.json (needs npm for the types of TypeScript)
sdk:
	CGO_ENABLED=0 go run ./scripts/sdkgen api/openapi.json sdk
	cd sdk/typescript && npm ci --no-audit --no-fund --silent && npm run --silent types

## schema: write docs/schema.md from the comments of the migrations
schema:
	CGO_ENABLED=0 go test ./internal/platform/schema -run '^TestEachColumnIsDescribed$$' -count=1 -update

## thumbnails: make the pictures of the site templates, which are committed (needs chromium-headless-shell)
thumbnails:
	CGO_ENABLED=0 go test ./internal/content/templates -run '^TestUpdateThumbnails$$' -count=1 -update

## pictures: take the pictures of the articles and of the panel in docs/images, which are committed (needs chromium-headless-shell)
pictures:
	CGO_ENABLED=0 go test ./internal/e2e -run '^TestUpdatePictures$$' -count=1 -update

## web: build web/dist, which is committed, from web/panel (needs npm)
web:
	cd web/panel && npm ci --no-audit --no-fund && npm run build

## packages: make deb, rpm, checksums and an SBOM of this commit in dist/packages
packages:
	@scripts/packages

## clean: remove what was built; the data stays
clean:
	rm -rf bin dist

## help: list these
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done
