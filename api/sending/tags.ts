/**
 * The tags of a message: labels for search and statistics. A tag is a text, or a name with a value. The latter is
 * stored as `name:value`, so it is the same tag as that text, in searches and in `X-Tag`. Therefore, a name has no
 * colon.
 */
import { z } from 'zod'

const MAX_TAGS = 50
const MAX_LENGTH = 128
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u
const SEPARATOR = ':'

const text = z
  .string()
  .min(1)
  .max(MAX_LENGTH)
  .refine((value) => !CONTROL.test(value))
const namedTag = z
  .object({
    name: z.string().regex(/^[^:]+$/),
    value: z.union([z.string(), z.number(), z.boolean()]).nullish(),
  })
  .transform(({ name, value }) =>
    value === undefined || value === null || value === '' ? name : `${name}${SEPARATOR}${value}`,
  )
  .pipe(text)
const tag = z.union([text, namedTag])

const FORMS =
  `must be a list of at most ${MAX_TAGS} texts of 1 to ${MAX_LENGTH} characters, or objects {name, value} ` +
  'that together have as many; a name has no colon'

/** A list, or one tag; null if absent. A tag that occurs twice is one. */
export const tags = z
  .union([z.array(tag).max(MAX_TAGS), tag.transform((one) => [one])], FORMS)
  .transform((list) => [...new Set(list)])
  .nullish()

export interface NamedTag {
  readonly name: string
  readonly value: string
}

/** The schema of `namedTags`. */
export const namedTagsSchema = z
  .array(z.object({ name: z.string(), value: z.string() }))
  .meta({ description: 'the tags that have a name and a value' })

/** The tags with a value. */
export function namedTags(list: readonly string[]): NamedTag[] {
  return list.flatMap((one) => {
    const at = one.indexOf(SEPARATOR)
    return at > 0 ? [{ name: one.slice(0, at), value: one.slice(at + 1) }] : []
  })
}
