// Writes the TypeScript types of the API's messages from docs/openapi.json: a key that the API loses is a type error here.
// usage: node scripts/api_types.mjs OPENAPI.json OUT.ts
import { readFileSync, writeFileSync } from 'node:fs';

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  switch (schema.type) {
    case 'string':
      return schema.pattern?.includes('[0-9]') ? 'Int64' : schema.format === 'byte' ? 'Base64' : 'string';
    case 'integer':
      return 'number';
    case 'number':
      return 'Real';
    case 'boolean':
      return 'boolean';
    case 'array':
      return `${/^\w+$/.test(typeOf(schema.items)) ? typeOf(schema.items) : `(${typeOf(schema.items)})`}[]`;
    case 'object':
      if (schema.additionalProperties) return `Record<string, ${typeOf(schema.additionalProperties)}>`;
      return schema.properties ? membersOf(schema) : 'Record<string, unknown>';
    default:
      throw new Error(`no TypeScript for ${JSON.stringify(schema)}`);
  }
}

function membersOf(schema) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, each]) => `  ${JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${typeOf(each)};`,
  );
  return `{\n${members.join('\n')}\n}`;
}

const [source, target] = process.argv.slice(2);
if (!target) throw new Error('usage: node scripts/api_types.mjs OPENAPI.json OUT.ts');
const { schemas } = JSON.parse(readFileSync(source, 'utf8')).components;
const lines = [
  '// Written by scripts/api_types.mjs from docs/openapi.json.',
  'export type Int64 = string;',
  'export type Base64 = string;',
  "export type Real = number | 'NaN' | 'Infinity' | '-Infinity';",
  ...Object.entries(schemas).map(([name, schema]) =>
    schema.type === 'object' ? `export interface ${name} ${membersOf(schema)}` : `export type ${name} = ${typeOf(schema)};`,
  ),
];
writeFileSync(target, `${lines.join('\n\n')}\n`);
