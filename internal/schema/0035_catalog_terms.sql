-- +goose Up

-- How long what takes in the life of a product's services, in days: an object; what it
-- does not name is the platform's default.
ALTER TABLE catalog_products ADD COLUMN terms TEXT NOT NULL DEFAULT '{}';
