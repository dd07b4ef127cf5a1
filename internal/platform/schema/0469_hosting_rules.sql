-- +goose Up

-- JSON object: of which .htaccess directives without effect the owner was notified, and when last; NULL before the first notification
ALTER TABLE hosting_usage ADD COLUMN rules_told TEXT;
