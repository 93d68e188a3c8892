/**
 * What may stand in a template, decided on its parsed form: only helpers that exist, with the number of values they take, no decorators
 * (they are code), and no depth that only an attacker writes. Partials only where they are still to be put in, by their bare name.
 */
import Handlebars from 'handlebars'
import { HELPERS, TemplateError } from './helpers.ts'
import { PARTIAL_NAME, type PartialUse } from './partials.ts'

const MAX_DEPTH = 100
/** What has more needs more memory than a thread has: said at once, and not after the seconds in which others wait for it. */
const MAX_EXPRESSIONS = 15_000

type Form = 'block' | 'value'

interface Rule {
  readonly arity: readonly [least: number, most: number]
  /** `{{#if …}}` is a block, `{{upper …}}` and `(upper …)` are values. */
  readonly forms: readonly Form[]
}

/** Handlebars' own helpers that are allowed. */
const BUILT_IN: Readonly<Record<string, Rule>> = {
  if: { arity: [1, 1], forms: ['block'] },
  unless: { arity: [1, 1], forms: ['block'] },
  each: { arity: [1, 1], forms: ['block'] },
  with: { arity: [1, 1], forms: ['block'] },
  lookup: { arity: [2, 2], forms: ['value'] },
}

const NAMES = [...Object.keys(BUILT_IN), ...Object.keys(HELPERS)].join(', ')

type Call = hbs.AST.MustacheStatement | hbs.AST.BlockStatement | hbs.AST.SubExpression

function ruleOf(name: string): Rule | undefined {
  if (Object.hasOwn(BUILT_IN, name)) return BUILT_IN[name]
  const helper = Object.hasOwn(HELPERS, name) ? HELPERS[name] : undefined
  return helper === undefined
    ? undefined
    : { arity: helper.arity, forms: helper.isTest === true ? ['block', 'value'] : ['value'] }
}

function nameOf(path: hbs.AST.Expression): string {
  return 'original' in path ? String(path.original) : path.type
}

function refuse(node: hbs.AST.Node, problem: string): never {
  throw new TemplateError(`line ${node.loc.start.line}: ${problem}`)
}

class Inspector extends Handlebars.Visitor {
  readonly partials: PartialUse[] = []
  private depth = 0
  private readonly mayUsePartials: boolean

  constructor(mayUsePartials: boolean) {
    super()
    this.mayUsePartials = mayUsePartials
  }

  override Program(program: hbs.AST.Program): void {
    this.depth++
    if (this.depth > MAX_DEPTH) refuse(program, `blocks are nested more than ${MAX_DEPTH} deep`)
    super.Program(program)
    this.depth--
  }

  override SubExpression(call: hbs.AST.SubExpression): void {
    this.depth++
    if (this.depth > MAX_DEPTH) refuse(call, `calls are nested more than ${MAX_DEPTH} deep`)
    this.inspect(call, 'value', true)
    super.SubExpression(call)
    this.depth--
  }

  override MustacheStatement(call: hbs.AST.MustacheStatement): void {
    this.inspect(call, 'value', false)
    super.MustacheStatement(call)
  }

  override BlockStatement(call: hbs.AST.BlockStatement): void {
    // {{#each}} with nothing would otherwise pass for a section of the variable "each"
    this.inspect(call, 'block', ruleOf(nameOf(call.path))?.forms.includes('block') === true)
    super.BlockStatement(call)
  }

  override PartialStatement(node: hbs.AST.PartialStatement): void {
    const name = nameOf(node.name)
    if (!this.mayUsePartials) refuse(node, `partials ({{> ${name}}}) are not supported here`)
    if (node.name.type !== 'PathExpression' || !PARTIAL_NAME.test(name))
      refuse(node, 'a partial is named as it is called: {{> footer}}')
    if (node.params.length > 0 || (node.hash as hbs.AST.Hash | undefined) !== undefined)
      refuse(node, `the partial ${name} takes no values`)
    this.partials.push({ name, line: node.loc.start.line })
  }

  override PartialBlockStatement(node: hbs.AST.PartialBlockStatement): void {
    refuse(node, 'partials with a block ({{#> …}}) are not supported')
  }

  override Decorator(node: hbs.AST.Decorator): void {
    refuse(node, 'decorators ({{* …}}) are not supported')
  }

  override DecoratorBlock(node: hbs.AST.DecoratorBlock): void {
    refuse(node, 'decorators ({{#* …}}) are not supported')
  }

  /** Without values and options, `{{name}}` and `{{#name}}` read a variable, unless it must be a call. */
  private inspect(call: Call, form: Form, isCall: boolean): void {
    const count = call.params.length
    const pairs: readonly hbs.AST.HashPair[] | undefined = call.hash?.pairs
    if (!isCall && count === 0 && (pairs === undefined || pairs.length === 0)) return
    const name = nameOf(call.path)
    const rule = ruleOf(name)
    if (rule === undefined) refuse(call, `there is no helper "${name}"; there are ${NAMES}`)
    const [least, most] = rule.arity
    const places = `${least === most ? least : `${least} to ${most}`} value${most === 1 ? '' : 's'}`
    if (count < least || count > most) refuse(call, `${name} takes ${places}, not ${count}`)
    if (rule.forms.includes(form)) return
    refuse(
      call,
      form === 'value' ? `${name} is a block: {{#${name} …}}…{{/${name}}}` : `${name} is no block: {{${name} …}}`,
    )
  }
}

/** @throws TemplateError that names the line, for what cannot be parsed and for what may not be. */
export function inspect(source: string): void {
  new Inspector(false).accept(parse(source))
}

/** As `inspect`, for what an author wrote: the partials that it names, in their order. */
export function inspectWritten(source: string): readonly PartialUse[] {
  const inspector = new Inspector(true)
  inspector.accept(parse(source))
  return inspector.partials
}

/** @throws TemplateError that names the line. */
export function parse(source: string): hbs.AST.Program {
  if (source.split('{{', MAX_EXPRESSIONS + 2).length > MAX_EXPRESSIONS + 1)
    throw new TemplateError(`it has more than ${MAX_EXPRESSIONS} expressions`)
  try {
    return Handlebars.parse(source)
  } catch (error) {
    throw new TemplateError(explain(error instanceof Error ? error.message : String(error)))
  }
}

/** The parser's words, shortened: where it stands and what was there. The list of all tokens it could have taken helps nobody. */
function explain(message: string): string {
  const [, line, excerpt, rest] =
    /^(?:Parse|Lexical) error on line (\d+)[:.][^\n]*\n([^\n]*)\n-*\^\n?(.*)$/s.exec(message) ?? []
  if (line !== undefined && excerpt !== undefined) {
    const hint =
      rest?.includes("got 'EOF'") === true ? ' (the template ends too early: is a block or a "}}" missing?)' : ''
    return `line ${line}: cannot be read at the end of "${excerpt}"${hint}`
  }
  const [, problem, at] = /^(.*) - (\d+):\d+$/s.exec(message) ?? []
  return at === undefined ? message : `line ${at}: ${problem}`
}
