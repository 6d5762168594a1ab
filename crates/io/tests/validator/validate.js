// Prints the validator's findings about the file named on the command line as JSON: {errors, warnings, messages}.
const fs = require('fs');
const validator = require('gltf-validator');

validator.validateBytes(new Uint8Array(fs.readFileSync(process.argv[2])), { maxIssues: 1000 }).then((report) => {
  const { numErrors, numWarnings, messages } = report.issues;
  const worst = messages.filter((m) => m.severity <= 1).slice(0, 10);
  console.log(JSON.stringify({ errors: numErrors, warnings: numWarnings, messages: worst }));
});
