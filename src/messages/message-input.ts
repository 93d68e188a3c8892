/**
 * Builds the INSERT of messages from the table of columns: the parameters of each submission, and the expression that
 * the statement stores for each column. Columns that most messages leave empty are optional: they share one JSON
 * object, which a message without any of them does not have.
 */
import type { BinaryColumn } from '#src/stores/binary-columns.ts'
import { jsonOrNull } from '#src/stores/column-arrays.ts'
import { BODIES_ARE_APART } from './bodies.ts'
import { COLUMN_LIST, type MessageColumn } from './columns.ts'
import type { Submission } from './submission.ts'

/** The columns with a parameter of their own, and the JSON object of the optional ones. */
export const MESSAGE_INPUT: Readonly<Record<string, BinaryColumn<Submission>>> = {
  ...Object.fromEntries(COLUMN_LIST.flatMap(([name, column]) => inputOf(name, column))),
  /** Only in `message_bodies`. */
  compressed: ['bytea', ({ compressed = null }) => compressed],
  optional_fields: ['jsonb', optionalFieldsOf],
}

function inputOf(name: string, { type, pick, isOptional }: MessageColumn): [string, BinaryColumn<Submission>][] {
  if (pick === undefined || isOptional) return []
  if (type.name === 'text[]') throw new Error(`messages.${name}: an array is only stored as an optional field`)
  return [
    [name, [type.name, type.name === 'jsonb' ? (s) => jsonOrNull(pick(s)) : (pick as BinaryColumn<Submission>[1])]],
  ]
}

const OPTIONAL_FIELDS = COLUMN_LIST.flatMap(([name, { pick, isOptional }]) =>
  pick !== undefined && isOptional ? [[name, pick] as const] : [],
)

function optionalFieldsOf(submission: Submission): string | null {
  let fields: Record<string, unknown> | null = null
  for (const [name, pick] of OPTIONAL_FIELDS) {
    const value = pick(submission)
    if (value !== null) (fields ??= {})[name] = value
  }
  return fields === null ? null : JSON.stringify(fields)
}

/** The value of an optional field, for types that are not a cast of its text. */
const FROM_JSON: Readonly<Partial<Record<string, (name: string) => string>>> = {
  text: (name) => `optional_fields ->> '${name}'`,
  jsonb: (name) => `optional_fields -> '${name}'`,
  'text[]': (name) => {
    const elements = `SELECT jsonb_array_elements_text(optional_fields -> '${name}')`
    return `CASE WHEN optional_fields ? '${name}' THEN ARRAY(${elements}) END`
  },
}

/** The columns of the INSERT, and the expression for each of them. */
const INSERTED = COLUMN_LIST.filter(([, { pick, computed }]) => pick !== undefined || computed !== undefined)
export const INSERT_COLUMNS = INSERTED.map(([name]) => name).join(', ')
export const INSERT_VALUES = INSERTED.map(([name, column]) => valueToInsert(name, column)).join(', ')

/** A body is stored in one of the two tables. */
function valueToInsert(name: string, { type, isOptional, byDefault, computed, isBody }: MessageColumn): string {
  if (computed !== undefined) return computed
  if (isBody) return `CASE WHEN NOT ${BODIES_ARE_APART} THEN ${name} END`
  if (!isOptional) return name
  const value = FROM_JSON[type.name]?.(name) ?? `(optional_fields ->> '${name}')::${type.name}`
  return byDefault === undefined ? value : `coalesce(${value}, ${byDefault})`
}
