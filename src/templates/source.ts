/** A version of a template, and what comes of rendering it. */
export interface Source {
  /** Names this version of a template. */
  readonly key: string
  readonly subject: string
  readonly body: string
  /** What variables bring into the body is escaped; into a text body (and the subject) it is put as it is. */
  readonly isHtml: boolean
}

export type Rendered =
  | { readonly ok: true; readonly subject: string; readonly html: string }
  | { readonly ok: false; readonly reason: string }

export function isSame(a: Source, b: Source): boolean {
  return a.key === b.key && a.subject === b.subject && a.body === b.body && a.isHtml === b.isHtml
}
