/**
 * Handlebars, fenced in: compiles sources that passed `inspect`, keeps what was compiled, and renders. Runs in the worker thread only,
 * because neither parsing nor rendering can be trusted to end. Params arrive as JSON text, so they are plain data without getters.
 */
import { Script } from 'node:vm'
import Handlebars from 'handlebars'
import { textFromHtml } from '#src/mail/html-text.ts'
import { inspect } from './check.ts'
import { type Hash, type Helper, HELPERS, TemplateError } from './helpers.ts'
import { isSame, type Rendered, type Source } from './source.ts'

export interface Engine {
  /** True when `render` of this source need not compile. */
  has(source: Source): boolean
  /** Null, or what is wrong with the source. What is right is kept. */
  compile(source: Source): string | null
  /** Compiles where needed. `params` is a JSON object. */
  render(source: Source, params: string): Rendered
}

const MAX_OUTPUT = 5_000_000
/** Compiled code takes some 20 times its source: the memory of the worker has room for this much. */
const MAX_KEPT_CHARS = 2_000_000
const MAX_KEPT = 500

interface Compiled {
  readonly source: Source
  readonly subject: Template
  readonly html: Template | null
  readonly text: Template | null
}

type Template = Handlebars.TemplateDelegate<unknown>
type Part = 'subject' | 'body' | 'text part'

export function createEngine(): Engine {
  const handlebars = fence(Handlebars.create())
  const kept = new Map<string, Compiled>()
  let keptChars = 0

  function recall(source: Source): Compiled | undefined {
    const compiled = kept.get(source.key)
    if (compiled === undefined || !isSame(compiled.source, source)) return undefined
    kept.delete(source.key) // to the young end
    kept.set(source.key, compiled)
    return compiled
  }

  function drop(key: string): void {
    keptChars -= lengthOf(kept.get(key)?.source)
    kept.delete(key)
  }

  function keep(compiled: Compiled): Compiled {
    drop(compiled.source.key)
    kept.set(compiled.source.key, compiled)
    keptChars += lengthOf(compiled.source)
    for (const key of kept.keys()) {
      if (kept.size <= MAX_KEPT && (keptChars <= MAX_KEPT_CHARS || kept.size === 1)) break
      drop(key)
    }
    return compiled
  }

  function compile(source: Source): Compiled {
    const part = (name: Part, text: string | null, noEscape: boolean): Template | null =>
      text === null ? null : within(name, () => build(handlebars, text, noEscape))
    const subject = within('subject', () => build(handlebars, source.subject, true))
    return keep({
      source,
      subject,
      html: part('body', source.html, false),
      text: part(nameOfText(source), source.text, true),
    })
  }

  return {
    has: (source) => recall(source) !== undefined,
    compile: (source) =>
      attempt(
        () => {
          compile(source)
        },
        () => null,
        (reason) => reason,
      ),
    render: (source, params) =>
      attempt(
        () => renderBoth(recall(source) ?? compile(source), readParams(params)),
        (rendered) => rendered,
        (reason) => ({ ok: false, reason }),
      ),
  }
}

function renderBoth(compiled: Compiled, params: unknown): Rendered {
  const part = (name: Part, template: Template | null): string | null =>
    template === null ? null : within(name, () => bounded(run(template, params)))
  const subject = within('subject', () => bounded(run(compiled.subject, params)))
  const [html, text] = [part('body', compiled.html), part(nameOfText(compiled.source), compiled.text)]
  const isTextMade = compiled.source.makesText === true && html !== null && (text === null || text === '')
  return { ok: true, subject, html, text: isTextMade ? textFromHtml(html) : text }
}

/** A text alone is what its author calls the body. */
function nameOfText(source: Source): Part {
  return source.html === null ? 'body' : 'text part'
}

function lengthOf(source: Source | undefined): number {
  return source === undefined ? 0 : source.subject.length + (source.html?.length ?? 0) + (source.text?.length ?? 0)
}

/** Our helpers in, `log` out (it writes to our own log). */
function fence(handlebars: typeof Handlebars): typeof Handlebars {
  handlebars.unregisterHelper('log')
  for (const [name, helper] of Object.entries(HELPERS)) handlebars.registerHelper(name, adapt(name, helper))
  return handlebars
}

interface CallOptions {
  readonly hash: Hash
  readonly fn?: (context: unknown) => string
  readonly inverse?: (context: unknown) => string
  readonly lookupProperty: (parent: unknown, name: string) => unknown
  readonly loc?: { readonly start: { readonly line: number } }
}

function adapt(name: string, helper: Helper): Handlebars.HelperDelegate {
  return function (this: unknown, ...args: unknown[]): unknown {
    const options = args.pop() as CallOptions
    // {{date}} with nothing behind it is the variable of that name, which a helper must not hide
    if (args.length === 0)
      return typeof this === 'object' && this !== null ? options.lookupProperty(this, name) : undefined
    try {
      const result = helper.run(args, options.hash)
      if (options.fn === undefined) return result
      return result === true ? options.fn(this) : options.inverse?.(this)
    } catch (error) {
      if (!(error instanceof TemplateError) || error.message.startsWith('line ')) throw error
      throw new TemplateError(`line ${options.loc?.start.line ?? '?'}: ${name} ${error.message}`)
    }
  }
}

function build(handlebars: typeof Handlebars, text: string, noEscape: boolean): Template {
  inspect(text)
  const code: unknown = handlebars.precompile(text, { noEscape })
  return handlebars.template<unknown>(
    new Script(`(${String(code)})`, { filename: 'template' }).runInThisContext() as TemplateSpecification,
  )
}

function run(template: Template, params: unknown): string {
  return template(params, { allowProtoPropertiesByDefault: false, allowProtoMethodsByDefault: false })
}

/** A long output is a tree of pieces until it is read: its length is known before it costs anything. */
function bounded(text: string): string {
  if (text.length > MAX_OUTPUT) throw new TemplateError(`is longer than ${MAX_OUTPUT} characters when rendered`)
  return text
}

/** Own keys called `__proto__` are dropped: where an object is copied they would become its prototype. */
function readParams(json: string): unknown {
  if (!json.includes('"__proto__"')) return JSON.parse(json)
  return JSON.parse(json, (key, value: unknown) => (key === '__proto__' ? undefined : value))
}

/** Says which part a problem is in. */
function within<T>(part: Part, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new TemplateError(`the ${part}${reasonOf(error)}`)
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof TemplateError)
    return error.message.startsWith('line ') ? `, ${error.message}` : ` ${error.message}`
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof RangeError && message === 'Invalid string length')
    return ` is longer than ${MAX_OUTPUT} characters when rendered`
  if (error instanceof RangeError) return ' is nested too deeply'
  if (/convert object to primitive|toHTML|toString|valueOf/.test(message))
    return ' prints a value that is an object and cannot be a text'
  return `: ${message}`
}

function attempt<T, R>(work: () => T, done: (value: T) => R, failed: (reason: string) => R): R {
  try {
    return done(work())
  } catch (error) {
    if (error instanceof TemplateError) return failed(error.message)
    throw error
  }
}
