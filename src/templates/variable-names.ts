/**
 * Finds the variables that a template reads from its params. Names inside `each`, `with` and sections refer to the
 * iterated values and are ignored. Use only for sources that passed validation.
 */
import { parseSource } from './source-validator.ts'
import { HELPERS } from './helpers.ts'

export interface VariableUse {
  /** For example `['attributes', 'plan']`. */
  readonly path: readonly string[]
  readonly line: number
  readonly column: number
}

/** Blocks that do not change the scope of names. */
const SAME_SCOPE: ReadonlySet<string> = new Set([
  'if',
  'unless',
  ...Object.entries(HELPERS)
    .filter(([, { isTest }]) => isTest)
    .map(([name]) => name),
])

type Call = hbs.AST.MustacheStatement | hbs.AST.BlockStatement | hbs.AST.SubExpression

export function findVariables(source: string): VariableUse[] {
  const found: VariableUse[] = []
  readProgram(parseSource(source), [true], found)
  return found
}

/** `scopes` lists the enclosing scopes, outermost first; true if names there refer to the params. */
function readProgram(program: hbs.AST.Program | undefined, scopes: readonly boolean[], found: VariableUse[]): void {
  if (program === undefined) return // `{{^a}}` has only the inverse branch
  for (const statement of program.body) {
    if (isBlock(statement)) readBlock(statement, scopes, found)
    else if (statement.type === 'MustacheStatement') readCall(statement as hbs.AST.MustacheStatement, scopes, found)
  }
}

function isBlock(statement: hbs.AST.Node): statement is hbs.AST.BlockStatement {
  return statement.type === 'BlockStatement'
}

function readBlock(block: hbs.AST.BlockStatement, scopes: readonly boolean[], found: VariableUse[]): void {
  readCall(block, scopes, found)
  const isSame = block.params.length > 0 && SAME_SCOPE.has(block.path.original)
  readProgram(block.program, isSame ? scopes : [...scopes, false], found)
  readProgram(block.inverse, scopes, found)
}

/** A call with values is a helper, whose values are read; without values its name is a variable. */
function readCall({ path, params, hash }: Call, scopes: readonly boolean[], found: VariableUse[]): void {
  const pairs = (hash as hbs.AST.Hash | undefined)?.pairs ?? []
  const read = params.length === 0 && pairs.length === 0 ? [path] : [...params, ...pairs.map(({ value }) => value)]
  for (const expression of read) readExpression(expression, scopes, found)
}

function readExpression(expression: hbs.AST.Expression, scopes: readonly boolean[], found: VariableUse[]): void {
  if (expression.type === 'SubExpression') readCall(expression as hbs.AST.SubExpression, scopes, found)
  if (expression.type !== 'PathExpression') return
  const { data, depth, parts, loc } = expression as hbs.AST.PathExpression
  const isRoot = data ? parts[0] === 'root' : scopes.at(-1 - depth) === true
  const path = data ? parts.slice(1) : parts
  if (isRoot && path.length > 0) found.push({ path: path.map(String), line: loc.start.line, column: loc.start.column })
}

/**
 * Whether every message, only some, or none prints one of `names`. `isVisible` tells whether the text at an offset is
 * displayed.
 */
export function outputFrequency(
  source: string,
  names: ReadonlySet<string>,
  isVisible: (offset: number) => boolean,
): 'always' | 'sometimes' | 'never' {
  const starts = lineStarts(source)
  const offsetOf = ({ line, column }: hbs.AST.Position): number => (starts[line - 1] ?? 0) + column
  const isIt = ({ path, params, loc }: hbs.AST.MustacheStatement): boolean => {
    const { data, depth, parts } = path as hbs.AST.PathExpression
    const isRoot = data ? parts[0] === 'root' : depth === 0
    const bare = data ? parts.slice(1) : parts
    const isNamed = isRoot && bare.length === 1 && names.has(String(bare[0]))
    return path.type === 'PathExpression' && params.length === 0 && isNamed && isVisible(offsetOf(loc.start))
  }
  const isIn = (program: hbs.AST.Program | undefined, isAlways: boolean): boolean =>
    program?.body.some((statement) => {
      if (statement.type === 'MustacheStatement') return isIt(statement as hbs.AST.MustacheStatement)
      if (!isBlock(statement)) return false
      const branches = [statement.program, statement.inverse]
      const isChoice = SAME_SCOPE.has(statement.path.original) && statement.params.length > 0
      return isAlways
        ? isChoice && branches.every((branch) => isIn(branch, true))
        : branches.some((branch) => isIn(branch, false))
    }) === true
  const program = parseSource(source)
  if (isIn(program, true)) return 'always'
  return isIn(program, false) ? 'sometimes' : 'never'
}

function lineStarts(source: string): number[] {
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
