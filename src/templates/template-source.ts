/** A compiled version of a template and the result of rendering it. */
export interface TemplateSource {
  /** Identifies this version of a template; the cache key of its compiled functions. */
  readonly key: string
  readonly subject: string
  /** Variables are HTML-escaped. Null if there is none. */
  readonly html: string | null
  /** The text part. Variables in it and in the subject are not escaped. Null if there is none. */
  readonly text: string | null
  /** Generate a text part from the rendered HTML if there is none. */
  readonly generatesText?: true
}

export type RenderResult =
  | { readonly ok: true; readonly subject: string; readonly html: string | null; readonly text: string | null }
  | { readonly ok: false; readonly reason: string }

export function isSameSource(a: TemplateSource, b: TemplateSource): boolean {
  return (
    a.key === b.key &&
    a.subject === b.subject &&
    a.html === b.html &&
    a.text === b.text &&
    a.generatesText === b.generatesText
  )
}
