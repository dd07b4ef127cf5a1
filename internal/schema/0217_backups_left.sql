-- +goose Up

-- Backups that are to go and are still on their panels.
CREATE INDEX backups_deleted ON backups (id) WHERE status = 'deleted';
