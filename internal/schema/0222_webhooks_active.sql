-- +goose Up

-- Who sweeps looks at the endpoints that are told of something, and not at those that were disabled over the years.
CREATE INDEX webhooks_endpoints_active ON webhooks_endpoints (status, id) WHERE status = 'active';
