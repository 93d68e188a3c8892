/**
 * Validates the parsed form of a template. A template may call only known helpers with the right number of values.
 * Decorators (they run code) and extreme nesting are rejected. Partials are allowed only in authored sources, by their
 * plain name.
 */
import Handlebars from 'handlebars'
import { HELPERS, TemplateError } from './helpers.ts'
import { PARTIAL_NAME, type PartialUse } from './partials.ts'

const MAX_DEPTH = 100
/**
 * More expressions need more memory than a thread has. The limit rejects such a template at once instead of after
 * seconds.
 */
const MAX_EXPRESSIONS = 15_000

type CallForm = 'block' | 'value'

interface HelperRule {
  readonly arity: readonly [least: number, most: number]
  /** `{{#if …}}` is a block; `{{upper …}}` and `(upper …)` are values. */
  readonly forms: readonly CallForm[]
}

/** Handlebars' built-in helpers that templates may call. */
const BUILT_IN_HELPERS: Readonly<Record<string, HelperRule>> = {
  if: { arity: [1, 1], forms: ['block'] },
  unless: { arity: [1, 1], forms: ['block'] },
  each: { arity: [1, 1], forms: ['block'] },
  with: { arity: [1, 1], forms: ['block'] },
  lookup: { arity: [2, 2], forms: ['value'] },
}

const HELPER_NAMES = [...Object.keys(BUILT_IN_HELPERS), ...Object.keys(HELPERS)].join(', ')

type Call = hbs.AST.MustacheStatement | hbs.AST.BlockStatement | hbs.AST.SubExpression

function ruleOf(name: string): HelperRule | undefined {
  if (Object.hasOwn(BUILT_IN_HELPERS, name)) return BUILT_IN_HELPERS[name]
  const helper = Object.hasOwn(HELPERS, name) ? HELPERS[name] : undefined
  return helper === undefined
    ? undefined
    : { arity: helper.arity, forms: helper.isTest === true ? ['block', 'value'] : ['value'] }
}

function nameOf(path: hbs.AST.Expression): string {
  return 'original' in path ? String(path.original) : path.type
}

function reject(node: hbs.AST.Node, problem: string): never {
  throw new TemplateError(`line ${node.loc.start.line}: ${problem}`)
}

class SourceValidator extends Handlebars.Visitor {
  readonly partials: PartialUse[] = []
  private depth = 0
  private readonly allowsPartials: boolean

  constructor(mayUsePartials: boolean) {
    super()
    this.allowsPartials = mayUsePartials
  }

  override Program(program: hbs.AST.Program): void {
    this.depth++
    if (this.depth > MAX_DEPTH) reject(program, `blocks are nested more than ${MAX_DEPTH} deep`)
    super.Program(program)
    this.depth--
  }

  override SubExpression(call: hbs.AST.SubExpression): void {
    this.depth++
    if (this.depth > MAX_DEPTH) reject(call, `calls are nested more than ${MAX_DEPTH} deep`)
    this.checkCall(call, 'value', true)
    super.SubExpression(call)
    this.depth--
  }

  override MustacheStatement(call: hbs.AST.MustacheStatement): void {
    this.checkCall(call, 'value', false)
    super.MustacheStatement(call)
  }

  override BlockStatement(call: hbs.AST.BlockStatement): void {
    // otherwise `{{#each}}` without values would count as a section over the variable "each"
    this.checkCall(call, 'block', ruleOf(nameOf(call.path))?.forms.includes('block') === true)
    super.BlockStatement(call)
  }

  override PartialStatement(node: hbs.AST.PartialStatement): void {
    const name = nameOf(node.name)
    if (!this.allowsPartials) reject(node, `partials ({{> ${name}}}) are not supported here`)
    if (node.name.type !== 'PathExpression' || !PARTIAL_NAME.test(name))
      reject(node, 'a partial is referenced by its name, for example {{> footer}}')
    if (node.params.length > 0 || (node.hash as hbs.AST.Hash | undefined) !== undefined)
      reject(node, `the partial ${name} takes no values`)
    this.partials.push({ name, line: node.loc.start.line })
  }

  override PartialBlockStatement(node: hbs.AST.PartialBlockStatement): void {
    reject(node, 'partials with a block ({{#> …}}) are not supported')
  }

  override Decorator(node: hbs.AST.Decorator): void {
    reject(node, 'decorators ({{* …}}) are not supported')
  }

  override DecoratorBlock(node: hbs.AST.DecoratorBlock): void {
    reject(node, 'decorators ({{#* …}}) are not supported')
  }

  /** `{{name}}` and `{{#name}}` without values and options read a variable, unless `isCall` is true. */
  private checkCall(call: Call, form: CallForm, isCall: boolean): void {
    const count = call.params.length
    const pairs: readonly hbs.AST.HashPair[] | undefined = call.hash?.pairs
    if (!isCall && count === 0 && (pairs === undefined || pairs.length === 0)) return
    const name = nameOf(call.path)
    const rule = ruleOf(name)
    if (rule === undefined) reject(call, `unknown helper "${name}"; available helpers: ${HELPER_NAMES}`)
    const [min, max] = rule.arity
    const expected = `${min === max ? min : `${min} to ${max}`} value${max === 1 ? '' : 's'}`
    if (count < min || count > max) reject(call, `${name} takes ${expected}, not ${count}`)
    if (rule.forms.includes(form)) return
    const isBlock = form === 'value'
    reject(call, isBlock ? `${name} is a block: {{#${name} …}}…{{/${name}}}` : `${name} is not a block: {{${name} …}}`)
  }
}

/** @throws TemplateError with the line number if the source cannot be parsed or uses a forbidden construct. */
export function validateSource(source: string): void {
  new SourceValidator(false).accept(parseSource(source))
}

/** Like `validateSource`, but allows partials. Returns the partials that the source uses, in order. */
export function validateAuthoredSource(source: string): readonly PartialUse[] {
  const validator = new SourceValidator(true)
  validator.accept(parseSource(source))
  return validator.partials
}

/** @throws TemplateError with the line number. */
export function parseSource(source: string): hbs.AST.Program {
  if (source.split('{{', MAX_EXPRESSIONS + 2).length > MAX_EXPRESSIONS + 1)
    throw new TemplateError(`it has more than ${MAX_EXPRESSIONS} expressions`)
  try {
    return Handlebars.parse(source)
  } catch (error) {
    throw new TemplateError(describeParseError(error instanceof Error ? error.message : String(error)))
  }
}

/** Shortens a parser error to the line and the excerpt; the parser's list of expected tokens helps no author. */
function describeParseError(message: string): string {
  const [, line, excerpt, rest] =
    /^(?:Parse|Lexical) error on line (\d+)[:.][^\n]*\n([^\n]*)\n-*\^\n?(.*)$/s.exec(message) ?? []
  if (line !== undefined && excerpt !== undefined) {
    const hint =
      rest?.includes("got 'EOF'") === true ? ' (the template ends too early: is a block or a "}}" missing?)' : ''
    return `line ${line}: cannot be read at the end of "${excerpt}"${hint}`
  }
  const [, problem, lineOfRule] = /^(.*) - (\d+):\d+$/s.exec(message) ?? []
  return lineOfRule === undefined ? message : `line ${lineOfRule}: ${problem}`
}
