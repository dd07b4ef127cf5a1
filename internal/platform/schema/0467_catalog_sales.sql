-- +goose Up

-- The services that a plan's count of sales has in it, so that one that was never counted is not taken off it: it was sold before
-- the plan had a stock, or came from elsewhere when there was none left. Those that have ended stay.
CREATE TABLE catalog_sales (
    service_id BIGINT NOT NULL, -- the service
    plan_id    BIGINT NOT NULL REFERENCES catalog_plans (id), -- the plan that counts it
    PRIMARY KEY (service_id, plan_id)
);

-- Until now all services of a plan with a stock were taken for counted.
INSERT INTO catalog_sales (service_id, plan_id)
SELECT s.id, s.plan_id FROM services s JOIN catalog_plans p ON p.id = s.plan_id WHERE p.stock IS NOT NULL;
