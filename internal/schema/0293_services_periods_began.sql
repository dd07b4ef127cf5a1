-- +goose Up

-- When the period began of which this is the rest, after another plan took the place of its first part; NULL: with it.
ALTER TABLE services_periods ADD COLUMN began_at BIGINT;
