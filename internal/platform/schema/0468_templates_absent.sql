-- +goose Up

-- names of the template's files, as JSON, that were not there before the first run, which undoing may remove; NULL before that
ALTER TABLE templates_installations ADD COLUMN absent TEXT;
