// The shape of a parsed template. `at` is the offset of the node in the source, for messages.
import type { Json } from '../json/types.js';

export interface Args {
  readonly positional: readonly Expr[];
  readonly named: readonly NamedArg[];
}

export interface NamedArg {
  readonly name: string;
  readonly value: Expr;
  readonly at: number;
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';
export type ComparisonOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';

export type Expr = { readonly at: number } & (
  | { readonly kind: 'constant'; readonly value: Json }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Expr[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [Expr, Expr])[] }
  | { readonly kind: 'member'; readonly of: Expr; readonly key: string }
  | { readonly kind: 'index'; readonly of: Expr; readonly key: Expr }
  | { readonly kind: 'slice'; readonly of: Expr; readonly start?: Expr; readonly stop?: Expr; readonly step?: Expr }
  | { readonly kind: 'call'; readonly name: string; readonly args: Args }
  | { readonly kind: 'method'; readonly of: Expr; readonly name: string; readonly args: Args }
  | { readonly kind: 'filter'; readonly of: Expr; readonly name: string; readonly args: Args }
  | { readonly kind: 'test'; readonly of: Expr; readonly name: string; readonly args: Args; readonly negated: boolean }
  | { readonly kind: 'sign'; readonly negative: boolean; readonly of: Expr }
  | { readonly kind: 'not'; readonly of: Expr }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Expr[] }
  | { readonly kind: 'compare'; readonly first: Expr; readonly rest: readonly Comparison[] }
  | { readonly kind: 'arithmetic'; readonly op: ArithmeticOperator; readonly left: Expr; readonly right: Expr }
  | { readonly kind: 'concat'; readonly parts: readonly Expr[] }
  | { readonly kind: 'choose'; readonly test: Expr; readonly value: Expr; readonly otherwise?: Expr }
);

export interface Comparison {
  readonly op: ComparisonOperator;
  readonly right: Expr;
  readonly at: number;
}

/** What `for` and `set` assign to. */
export type Target =
  | { readonly kind: 'names'; readonly names: readonly string[]; readonly unpack: boolean; readonly at: number }
  | { readonly kind: 'field'; readonly name: string; readonly field: string; readonly at: number };

export interface Branch {
  readonly test: Expr;
  readonly body: readonly Node[];
}

export type Node = { readonly at: number } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly value: Expr }
  | { readonly kind: 'if'; readonly branches: readonly Branch[]; readonly otherwise: readonly Node[] }
  | {
      readonly kind: 'for';
      readonly target: Target;
      readonly over: Expr;
      readonly where?: Expr;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
    }
  | { readonly kind: 'set'; readonly target: Target; readonly value: Expr }
  | { readonly kind: 'capture'; readonly target: Target; readonly body: readonly Node[] }
);
