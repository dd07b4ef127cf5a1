/** The directory of a service's first site, which deployments go to unless they name another. */
export const site = "/public_html";
