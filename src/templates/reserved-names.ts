/**
 * Lets templates read variables that have the name of a Handlebars helper or hook: `{{log}}`, `{{if}}`,
 * `{{helperMissing}}`. Handlebars would call the helper without values and fail with an internal error. A path that
 * begins with `./` is never a helper, so such an expression is compiled as one. Names of block parameters stay.
 */
import Handlebars from 'handlebars'

/** Helpers of Handlebars, and the hooks that it calls for names without a helper. */
const RESERVED: ReadonlySet<string> = new Set([
  'if',
  'unless',
  'each',
  'with',
  'lookup',
  'log',
  'helperMissing',
  'blockHelperMissing',
])

type Call = hbs.AST.MustacheStatement | hbs.AST.BlockStatement

class VariableReader extends Handlebars.Visitor {
  private readonly blockParams: string[] = []

  override Program(program: hbs.AST.Program): void {
    const before = this.blockParams.length
    this.blockParams.push(...((program.blockParams as string[] | undefined) ?? []))
    super.Program(program)
    this.blockParams.length = before
  }

  override MustacheStatement(call: hbs.AST.MustacheStatement): void {
    this.readVariable(call)
    super.MustacheStatement(call)
  }

  override BlockStatement(call: hbs.AST.BlockStatement): void {
    this.readVariable(call)
    super.BlockStatement(call)
  }

  private readVariable({ path, params, hash }: Call): void {
    const pairs = (hash as hbs.AST.Hash | undefined)?.pairs ?? []
    if (path.type !== 'PathExpression' || params.length > 0 || pairs.length > 0) return
    const { parts, depth, original } = path as hbs.AST.PathExpression
    const [name = ''] = parts
    if (parts.length !== 1 || depth > 0 || !RESERVED.has(name) || this.blockParams.includes(name)) return
    if (!original.startsWith('.')) (path as hbs.AST.PathExpression).original = `./${original}`
  }
}

/** Changes the program of a source that passed `validateSource`. */
export function readReservedNames(program: hbs.AST.Program): hbs.AST.Program {
  new VariableReader().accept(program)
  return program
}
