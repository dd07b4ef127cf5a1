import { fileURLToPath } from "node:url";

import importX from "eslint-plugin-import-x";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const src = fileURLToPath(new URL("src", import.meta.url));

export default tseslint.config(
  { ignores: ["src/api/*schema.d.ts", "src/routeTree.gen.ts"] },
  ...tseslint.configs.recommended,
  hooks.configs.flat["recommended-latest"],
  a11y.flatConfigs.recommended,
  {
    plugins: { "import-x": importX },
    rules: {
      // A feature knows neither another feature nor the routes; what features share knows none of them.
      "import-x/no-restricted-paths": [
        "error",
        {
          zones: [
            { target: `${src}/features`, from: `${src}/routes` },
            { target: `${src}/{ui,api,i18n}`, from: `${src}/{features,routes}` },
          ],
        },
      ],
      // A button is pressed where the pointer went down: a message that comes between moves it away.
      "no-restricted-syntax": [
        "error",
        {
          selector: "Property[key.name='validateInputOnBlur']",
          message: "What is wrong is said when the form is sent, and goes when the field is changed.",
        },
      ],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
);
