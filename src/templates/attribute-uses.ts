/** Which variables of a template a custom attribute of a contact may fill in. Pure; runs in the compile thread. */
import { findVariables } from './variable-names.ts'
import { VARIABLE_NAMES } from './variables.ts'

export interface AttributeUses {
  /** Names from `{{attributes.plan}}`. */
  readonly explicit: readonly string[]
  /** Names from `{{plan}}`. It may also be a param of the sender. */
  readonly bare: readonly string[]
}

/** The names are data of the author: more are not listed. */
const MAX_NAMES = 100

/** Lists the names in `sources`, which must have passed validation; null: there is no such part. */
export function findAttributeUses(sources: readonly (string | null)[]): AttributeUses {
  const paths = sources.flatMap((source) => (source === null ? [] : findVariables(source).map(({ path }) => path)))
  return {
    explicit: unique(
      paths.flatMap(([name, member]) => (name === 'attributes' && member !== undefined ? [member] : [])),
    ),
    bare: unique(paths.flatMap(([name = '']) => (VARIABLE_NAMES.has(name) ? [] : [name]))),
  }
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].slice(0, MAX_NAMES)
}
