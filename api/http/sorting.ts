/** `sortBy` and `sortDir` of lists: names in camelCase or snake_case, directions in any case. Other values get 400. */
import { z } from 'zod'
import { oneOfText } from '#src/platform/choice-text.ts'

const snakeOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Accepts the given names and their snake_case forms. */
export function sortBy<const N extends string>(names: readonly N[], fallback: N): z.ZodType<N> {
  const spellings = new Map(
    names.flatMap(
      (name) =>
        [
          [name, name],
          [snakeOf(name), name],
        ] as const,
    ),
  )
  return z
    .string()
    .optional()
    .meta({ enum: [...spellings.keys()], default: fallback })
    .transform((given, sink): N => {
      const name = given === undefined || given === '' ? fallback : spellings.get(given)
      if (name === undefined) sink.addIssue({ code: 'custom', message: oneOfText(names, given) })
      return name ?? z.NEVER
    })
}

export type Direction = 'asc' | 'desc'

export function sortDir(fallback: Direction): z.ZodType<Direction> {
  return z
    .string()
    .optional()
    .meta({ enum: ['asc', 'desc'], default: fallback })
    .transform((given, sink): Direction => {
      const way = given === undefined || given === '' ? fallback : given.toLowerCase()
      if (way === 'asc' || way === 'desc') return way
      sink.addIssue({ code: 'custom', message: 'must be asc or desc' })
      return z.NEVER
    })
}
