/** A version of a template in its finished form, and what comes of rendering it. */
export interface Source {
  /** Names this version of a template: what was compiled is kept by it. */
  readonly key: string
  readonly subject: string
  /** What variables bring into it is escaped. Null: there is none. */
  readonly html: string | null
  /** The text part; into it (and the subject) variables are put as they are. Null: there is none. */
  readonly text: string | null
  /** A text part is made of the rendered HTML where there is none. */
  readonly makesText?: true
}

export type Rendered =
  | { readonly ok: true; readonly subject: string; readonly html: string | null; readonly text: string | null }
  | { readonly ok: false; readonly reason: string }

export function isSame(a: Source, b: Source): boolean {
  return (
    a.key === b.key && a.subject === b.subject && a.html === b.html && a.text === b.text && a.makesText === b.makesText
  )
}
