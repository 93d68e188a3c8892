/**
 * The conditions of a segment as the builder edits them: groups (all, any, none) of conditions and groups, each with a
 * key for the page. The API has `not` around anything; `none` is what people understand, so `not` becomes a group.
 */

export type Match = 'all' | 'any' | 'none'

export interface GroupNode {
  readonly key: number
  readonly kind: 'group'
  readonly match: Match
  readonly children: readonly SegmentNode[]
}
export interface ConditionNode {
  readonly key: number
  readonly kind: 'condition'
  readonly condition: Condition
}
export type SegmentNode = GroupNode | ConditionNode

export type Scalar = string | number | boolean
export type Condition =
  | { readonly type: 'attribute'; readonly attribute: string; readonly op: string; readonly value: Scalar }
  | { readonly type: 'field'; readonly field: string; readonly op: string; readonly value: Scalar }
  | { readonly type: 'tag'; readonly tag: string; readonly has: boolean }
  | { readonly type: 'status'; readonly status: string; readonly audienceId: string | null }
  | { readonly type: 'activity'; readonly activity: string; readonly withinDays: number | null }
export type ConditionType = Condition['type']

type Filter = Readonly<Record<string, unknown>>

let lastKey = 0
const newKey = (): number => ++lastKey

export function newGroup(match: Match = 'all', children: readonly SegmentNode[] = []): GroupNode {
  return { key: newKey(), kind: 'group', match, children }
}

export const FIRST_CONDITIONS: Readonly<Record<ConditionType, Condition>> = {
  attribute: { type: 'attribute', attribute: '', op: 'eq', value: '' },
  field: { type: 'field', field: 'email', op: 'contains', value: '' },
  tag: { type: 'tag', tag: '', has: true },
  status: { type: 'status', status: 'subscribed', audienceId: null },
  activity: { type: 'activity', activity: 'opened', withinDays: 30 },
}

export function newCondition(condition: Condition = FIRST_CONDITIONS.attribute): ConditionNode {
  return { key: newKey(), kind: 'condition', condition }
}

/** The document of a stored filter. What the builder does not know is left out, so it never fails. */
export function fromFilter(filter: Filter): GroupNode {
  const node = readNode(filter)
  if (node === null) return newGroup()
  return node.kind === 'group' ? node : newGroup('all', [node])
}

function readNode(filter: unknown): SegmentNode | null {
  if (typeof filter !== 'object' || filter === null) return null
  const given = filter as Filter
  for (const match of ['all', 'any'] as const) {
    const members = given[match]
    if (Array.isArray(members)) return newGroup(match, readAll(members))
  }
  if ('not' in given) {
    const inner = readNode(given['not'])
    if (inner === null) return null
    // not (a or b) is none of them; not (a and b) is none of the one group
    return inner.kind === 'group' && inner.match === 'any' ? { ...inner, match: 'none' } : newGroup('none', [inner])
  }
  const condition = readCondition(given)
  return condition === null ? null : newCondition(condition)
}

const readAll = (members: readonly unknown[]): SegmentNode[] => members.map(readNode).filter((one) => one !== null)

function readCondition(given: Filter): Condition | null {
  const text = (name: string): string | null => (typeof given[name] === 'string' ? given[name] : null)
  const [op, value] = [text('op') ?? 'eq', readScalar(given['value'])]
  const [attribute, field, tag, status, activity] = ['attribute', 'field', 'tag', 'status', 'activity'].map(text)
  if (attribute != null) return { type: 'attribute', attribute, op, value }
  if (field != null) return { type: 'field', field, op, value }
  if (tag != null) return { type: 'tag', tag, has: given['has'] !== false }
  if (status != null) return { type: 'status', status, audienceId: text('audienceId') }
  const days = given['withinDays']
  return activity == null ? null : { type: 'activity', activity, withinDays: typeof days === 'number' ? days : null }
}

function readScalar(value: unknown): Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : ''
}

export function toFilter(node: SegmentNode): Filter {
  if (node.kind === 'condition') {
    const { type: _, ...filter } = node.condition
    return filter
  }
  const members = node.children.map(toFilter)
  return node.match === 'none' ? { not: { any: members } } : { [node.match]: members }
}

/** What has to be filled in before the filter can be counted. */
export function isComplete(node: SegmentNode): boolean {
  if (node.kind === 'group') return node.children.every(isComplete)
  const { condition } = node
  if (condition.type === 'attribute') return condition.attribute.trim() !== '' && condition.value !== ''
  if (condition.type === 'field') return condition.value !== ''
  return condition.type !== 'tag' || condition.tag.trim() !== ''
}

/** The document with the node of the key replaced; null removes it. */
export function replaceNode(root: GroupNode, key: number, next: SegmentNode | null): GroupNode {
  if (root.key === key) return next !== null && next.kind === 'group' ? next : root
  return {
    ...root,
    children: root.children.flatMap((child) => {
      if (child.key === key) return next === null ? [] : [next]
      return [child.kind === 'group' ? replaceNode(child, key, next) : child]
    }),
  }
}

/** The operators of a value of this kind. */
export const OPERATORS = {
  text: ['eq', 'ne', 'contains', 'exists'],
  number: ['eq', 'ne', 'gt', 'lt', 'exists'],
  time: ['gt', 'lt', 'exists'],
  any: ['eq', 'ne', 'gt', 'lt', 'contains', 'exists'],
} as const

export const FIELD_TYPES: Readonly<Record<string, 'text' | 'number' | 'time'>> = {
  email: 'text',
  firstName: 'text',
  lastName: 'text',
  companyName: 'text',
  jobTitle: 'text',
  phoneNumber: 'text',
  timezone: 'text',
  score: 'number',
  createdAt: 'time',
  updatedAt: 'time',
}

/** The value of a text field: numbers compare as numbers, the rest as texts. */
export function readValue(text: string): Scalar {
  return /^-?\d{1,15}(?:\.\d{1,10})?$/.test(text) && String(Number(text)) === text ? Number(text) : text
}
