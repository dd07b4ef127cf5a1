-- +goose Up

-- Simulated registries, whole: of sandboxes, and of a demonstration. Every process has them here.
CREATE TABLE domains_simulated (
    name     TEXT   NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,
    content  TEXT   NOT NULL
);
