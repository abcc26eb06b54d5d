import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { controlsTransaction, splitStatements } from './sql-statements.js';

describe('splitting SQL into statements', () => {
  it.each([
    ['two statements', 'SELECT 1; SELECT 2', ['SELECT 1', 'SELECT 2']],
    ['a last semicolon and blanks', ' SELECT 1 ;\n ; ', ['SELECT 1']],
    ['a text', "SELECT 'a;b''c;' ; SELECT 2", ["SELECT 'a;b''c;'", 'SELECT 2']],
    ['a text with escapes', "SELECT E'it\\'s; one'; SELECT 2", ["SELECT E'it\\'s; one'", 'SELECT 2']],
    ['a backslash that escapes nothing', "SELECT 'a\\'; SELECT 2", ["SELECT 'a\\'", 'SELECT 2']],
    ['a quoted name', 'SELECT ";" ; SELECT 2', ['SELECT ";"', 'SELECT 2']],
    ['an apostrophe in a line comment', "SELECT 1 -- it's; one\n; SELECT 2", ["SELECT 1 -- it's; one", 'SELECT 2']],
    ['nested block comments', 'SELECT 1 /* a; /* b; */ c; */; SELECT 2', ['SELECT 1 /* a; /* b; */ c; */', 'SELECT 2']],
    ['a dollar-quoted body', 'DO $x$ a; $$ b; $$ c; $x$; SELECT 2', ['DO $x$ a; $$ b; $$ c; $x$', 'SELECT 2']],
    ['parameters', 'SELECT $1; SELECT $2', ['SELECT $1', 'SELECT $2']],
    ['a dollar inside a name', 'SELECT a$b$c; SELECT 2', ['SELECT a$b$c', 'SELECT 2']],
    ['only comments', '-- nothing\n; /* nothing */', []],
    [
      'a function body in SQL',
      'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3',
      ['CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END', 'SELECT 3'],
    ],
    ['a text that never ends', "SELECT 'a; SELECT 2", ["SELECT 'a; SELECT 2"]],
  ])('%s', (_, sql, statements) => {
    expect(splitStatements(sql)).toEqual(statements);
  });

  const piece = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', ' ', '1', '(', ',', '=') }),
    fc.string({ unit: fc.constantFrom('x', ';', '"', '-', '$', '\n') }).map((text) => `'${text}'`),
    fc.string({ unit: fc.constantFrom('x', ';', "'", '/', '*') }).map((text) => `"${text}"`),
    fc.string({ unit: fc.constantFrom('x', ';', "'", '"', '-') }).map((text) => `$t$${text}$t$`),
    fc.string({ unit: fc.constantFrom('x', ';', "'", '"') }).map((text) => ` --${text}\n`),
    fc.string({ unit: fc.constantFrom('x', ';', "'", '"', '-') }).map((text) => ` /*${text}*/ `),
  );
  const statement = fc.array(piece).map((pieces) => `SELECT ${pieces.join(' ')} END_OF_IT`);

  it('finds the statements it was made of, whatever they quote', () => {
    fc.assert(
      fc.property(fc.array(statement, { minLength: 1 }), (statements) => {
        expect(splitStatements(statements.join(';\n'))).toEqual(statements);
      }),
    );
  });

  it('ends for every text, and loses only blanks, comments and semicolons', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("'", '"', '$', ';', '-', '/', '*', 'e', '\\', '\n', 'a') }),
        (sql) => {
          let at = 0;
          for (const found of splitStatements(sql)) {
            const next = sql.indexOf(found, at);
            expect(next).toBeGreaterThanOrEqual(at);
            at = next + found.length;
          }
        },
      ),
    );
  });
});

describe('transaction control', () => {
  it.each(['BEGIN', 'begin work', '-- now\nCOMMIT', 'ROLLBACK TO a', 'START TRANSACTION', 'SAVEPOINT a', 'END'])(
    'is %j',
    (sql) => expect(controlsTransaction(sql)).toBe(true),
  );
  it.each(['SELECT 1', "SELECT 'BEGIN'", 'PREPARE p AS SELECT 1', '"begin"', 'WITH begin AS (SELECT 1) SELECT 1'])(
    'is not %j',
    (sql) => expect(controlsTransaction(sql)).toBe(false),
  );
});
