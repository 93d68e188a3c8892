/**
 * Runs Handlebars with restrictions: compiles sources that passed `validateSource`, caches the compiled functions, and
 * renders them. Runs only in a worker thread, because neither parsing nor rendering is guaranteed to end. Params arrive
 * as JSON text, so they are plain data without getters.
 */
import { Script } from 'node:vm'
import Handlebars from 'handlebars'
import { textFromHtml } from '#src/mail/html-text.ts'
import { readReservedNames } from './reserved-names.ts'
import { parseSource, validateSource } from './source-validator.ts'
import { type HashArguments, type Helper, HELPERS, TemplateError } from './helpers.ts'
import { isSameSource, type RenderResult, type TemplateSource } from './template-source.ts'

export interface Engine {
  /** True if the compiled source is cached. */
  has(source: TemplateSource): boolean
  /** Compiles and caches the source. Returns null, or the reason why it is invalid. */
  compile(source: TemplateSource): string | null
  /** Compiles the source if it is not cached. `params` is a JSON object. */
  render(source: TemplateSource, params: string): RenderResult
}

const MAX_OUTPUT = 5_000_000
/** Compiled code takes about 20 times the memory of its source; this much fits into a worker. */
const MAX_CACHED_CHARS = 2_000_000
const MAX_CACHED_SOURCES = 500

interface CompiledSource {
  readonly source: TemplateSource
  readonly subject: TemplateFunction
  readonly html: TemplateFunction | null
  readonly text: TemplateFunction | null
}

type TemplateFunction = Handlebars.TemplateDelegate<unknown>
type PartName = 'subject' | 'body' | 'text part'

export function createEngine(): Engine {
  const handlebars = configureHandlebars(Handlebars.create())
  const cache = new Map<string, CompiledSource>()
  let cachedChars = 0

  function findCached(source: TemplateSource): CompiledSource | undefined {
    const compiled = cache.get(source.key)
    if (compiled === undefined || !isSameSource(compiled.source, source)) return undefined
    cache.delete(source.key) // move to the most recently used end
    cache.set(source.key, compiled)
    return compiled
  }

  function evict(key: string): void {
    cachedChars -= sourceLength(cache.get(key)?.source)
    cache.delete(key)
  }

  function store(compiled: CompiledSource): CompiledSource {
    evict(compiled.source.key)
    cache.set(compiled.source.key, compiled)
    cachedChars += sourceLength(compiled.source)
    for (const key of cache.keys()) {
      if (cache.size <= MAX_CACHED_SOURCES && (cachedChars <= MAX_CACHED_CHARS || cache.size === 1)) break
      evict(key)
    }
    return compiled
  }

  function compile(source: TemplateSource): CompiledSource {
    const part = (name: PartName, text: string | null, noEscape: boolean): TemplateFunction | null =>
      text === null ? null : runForPart(name, () => compilePart(handlebars, text, noEscape))
    const subject = runForPart('subject', () => compilePart(handlebars, source.subject, true))
    return store({
      source,
      subject,
      html: part('body', source.html, false),
      text: part(textPartName(source), source.text, true),
    })
  }

  return {
    has: (source) => findCached(source) !== undefined,
    compile: (source) =>
      catchTemplateError(
        () => {
          compile(source)
        },
        () => null,
        (reason) => reason,
      ),
    render: (source, params) =>
      catchTemplateError(
        () => renderParts(findCached(source) ?? compile(source), readParams(params)),
        (rendered) => rendered,
        (reason) => ({ ok: false, reason }),
      ),
  }
}

function renderParts(compiled: CompiledSource, params: unknown): RenderResult {
  const part = (name: PartName, template: TemplateFunction | null): string | null =>
    template === null ? null : runForPart(name, () => checkLength(runTemplate(template, params)))
  const subject = runForPart('subject', () => checkLength(runTemplate(compiled.subject, params)))
  const [html, text] = [part('body', compiled.html), part(textPartName(compiled.source), compiled.text)]
  const needsText = compiled.source.generatesText === true && html !== null && (text === null || text === '')
  return { ok: true, subject, html, text: needsText ? textFromHtml(html) : text }
}

/** The author of a plain-text template calls its text the body. */
function textPartName(source: TemplateSource): PartName {
  return source.html === null ? 'body' : 'text part'
}

function sourceLength(source: TemplateSource | undefined): number {
  return source === undefined ? 0 : source.subject.length + (source.html?.length ?? 0) + (source.text?.length ?? 0)
}

/** Registers our helpers and removes `log`, which would write to the process log. */
function configureHandlebars(handlebars: typeof Handlebars): typeof Handlebars {
  handlebars.unregisterHelper('log')
  for (const [name, helper] of Object.entries(HELPERS)) handlebars.registerHelper(name, adapt(name, helper))
  return handlebars
}

interface CallOptions {
  readonly hash: HashArguments
  readonly fn?: (context: unknown) => string
  readonly inverse?: (context: unknown) => string
  readonly lookupProperty: (parent: unknown, name: string) => unknown
  readonly loc?: { readonly start: { readonly line: number } }
}

function adapt(name: string, helper: Helper): Handlebars.HelperDelegate {
  return function (this: unknown, ...args: unknown[]): unknown {
    const options = args.pop() as CallOptions
    // `{{date}}` without values reads the variable of that name; a helper must not hide it
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

function compilePart(handlebars: typeof Handlebars, text: string, noEscape: boolean): TemplateFunction {
  validateSource(text)
  const code: unknown = handlebars.precompile(readReservedNames(parseSource(text)), { noEscape })
  return handlebars.template<unknown>(
    new Script(`(${String(code)})`, { filename: 'template' }).runInThisContext() as TemplateSpecification,
  )
}

function runTemplate(template: TemplateFunction, params: unknown): string {
  return template(params, { allowProtoPropertiesByDefault: false, allowProtoMethodsByDefault: false })
}

/** V8 builds a long string as a rope, so its length is known before it is flattened. */
function checkLength(text: string): string {
  if (text.length > MAX_OUTPUT) throw new TemplateError(`is longer than ${MAX_OUTPUT} characters when rendered`)
  return text
}

/** Drops own keys named `__proto__`; copying an object would turn them into its prototype. */
function readParams(json: string): unknown {
  if (!json.includes('"__proto__"')) return JSON.parse(json)
  return JSON.parse(json, (key, value: unknown) => (key === '__proto__' ? undefined : value))
}

/** Prefixes an error with the name of the part. */
function runForPart<T>(part: PartName, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new TemplateError(`the ${part}${describeError(error)}`)
  }
}

function describeError(error: unknown): string {
  if (error instanceof TemplateError)
    return error.message.startsWith('line ') ? `, ${error.message}` : ` ${error.message}`
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof RangeError && message === 'Invalid string length')
    return ` is longer than ${MAX_OUTPUT} characters when rendered`
  if (error instanceof RangeError) return ' is nested too deeply'
  if (/convert object to primitive|toHTML|toString|valueOf/.test(message))
    return ' prints an object, which has no text form'
  // an error inside Handlebars or V8, whose text helps no author
  if (error instanceof TypeError) return ' cannot be rendered: an expression has a value that it cannot use'
  return `: ${message}`
}

function catchTemplateError<T, R>(work: () => T, done: (value: T) => R, failed: (reason: string) => R): R {
  try {
    return done(work())
  } catch (error) {
    if (error instanceof TemplateError) return failed(error.message)
    throw error
  }
}
