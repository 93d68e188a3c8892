/**
 * Compiles an authored template to the form that is stored and rendered: expands partials, compiles MJML, inlines CSS,
 * and compiles the result once with Handlebars to prove that it is valid. Runs only in the compile thread, because no
 * step is guaranteed to end. Pure: the same input gives the same result.
 */
import { isHtml } from '#src/mail/html-detection.ts'
import { type AttributeUses, findAttributeUses } from './attribute-uses.ts'
import { validateAuthoredSource } from './source-validator.ts'
import type { Engine } from './engine.ts'
import { TemplateError } from './helpers.ts'
import { inlineCss } from './inline-css.ts'
import { type ExpandedSource, expandPartials, type PartialBodies } from './partials.ts'
import type { TemplateFormat } from './versions.ts'

export interface AuthoredTemplate {
  readonly subject: string
  /** HTML, MJML or plain text. */
  readonly body: string
  /** The text part; null if there is none. */
  readonly text: string | null
  /** Null: detect the format from the body. */
  readonly format: TemplateFormat | null
}

export interface CompiledTemplate {
  readonly ok: true
  readonly format: TemplateFormat
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  /** Names of the partials that were expanded. */
  readonly partials: readonly string[]
  /** Names that attributes of contacts may fill in. */
  readonly attributes: AttributeUses
}

export type CompileResult = CompiledTemplate | { readonly ok: false; readonly reason: string }

/** Limit for a source after its partials are expanded. */
const MAX_COMPILED_CHARS = 2_000_000

export async function compileTemplate(
  engine: Engine,
  authored: AuthoredTemplate,
  partials: PartialBodies,
): Promise<CompileResult> {
  try {
    const body = expandPart('body', authored.body, partials)
    const text = authored.text === null ? null : expandPart('text part', authored.text, partials)
    const format = authored.format ?? detectFormat(body.text)
    // a plain-text body has no separate text part
    const parts =
      format === 'text'
        ? { html: null, text: body.text }
        : { html: await toHtml(format, body), text: text?.text ?? null }
    const problem = engine.compile({ key: 'compile', subject: authored.subject, ...parts })
    if (problem !== null) return { ok: false, reason: problem }
    return {
      ok: true,
      format,
      subject: authored.subject,
      ...parts,
      partials: [...new Set([...body.uses, ...(text?.uses ?? [])])],
      attributes: findAttributeUses([authored.subject, parts.html, parts.text]),
    }
  } catch (error) {
    if (error instanceof TemplateError) return { ok: false, reason: error.message }
    throw error
  }
}

function isMjml(body: string): boolean {
  return /<mjml[\s>]/i.test(body)
}

/** Recognises MJML by its root element and HTML by its tags. */
function detectFormat(body: string): TemplateFormat {
  if (isMjml(body)) return 'mjml'
  return isHtml(body) ? 'html' : 'text'
}

function expandPart(
  part: 'body' | 'text part',
  source: string,
  partials: PartialBodies,
): ExpandedSource & { readonly uses: readonly string[] } {
  return runForPart(part, () => {
    const uses = validateAuthoredSource(source)
    const expanded = expandPartials(source, uses, partials)
    if (expanded.text.length > MAX_COMPILED_CHARS)
      throw new TemplateError(`is longer than ${MAX_COMPILED_CHARS} characters with its partials`)
    return { ...expanded, uses: uses.map(({ name }) => name) }
  })
}

async function toHtml(format: TemplateFormat, { text, formatLine }: ExpandedSource): Promise<string> {
  if (format === 'html') return inlineCss(text)
  // MJML is large and most processes never compile it, so it is loaded on demand
  const { compileMjml } = await import('./mjml.ts')
  try {
    return await compileMjml(text, formatLine)
  } catch (error) {
    throw prefixPart('body', error)
  }
}

function runForPart<T>(part: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw prefixPart(part, error)
  }
}

function prefixPart(part: string, error: unknown): unknown {
  if (!(error instanceof TemplateError)) return error
  const separator = error.message.startsWith('line ') ? ',' : error.message.startsWith('is ') ? '' : ':'
  return new TemplateError(`the ${part}${separator} ${error.message}`)
}
