/** The form of a list of the API in the tests of cursors. */
import type { TenantIds } from './tenant-objects.ts'

/** Of the objects, and of the workspace. */
export type ListIds = TenantIds & { readonly workspace: string }

export interface ListCase {
  readonly route: string
  /** Where a route has several orders. */
  readonly name?: string
  path(ids: ListIds): string
  /** The field of the items, and what identifies one. */
  readonly items: string
  readonly id?: string
  /** Called with a Regular key. */
  readonly isRegular?: true
  readonly isOperator?: true
  /** Called by a person. */
  readonly isPersonal?: true
  /** Pages have no numbers. */
  readonly hasNoNumbers?: true
  /** `after` is a position in the list: the `next` of an earlier page. */
  readonly hasAfter?: true
  /** Another list of the same route. */
  readonly otherFilter?: Readonly<Record<string, string>>
}

/** A list that is called with an Admin key, unless `rest` says otherwise. */
export const listCase = (
  route: string,
  path: string | ListCase['path'],
  items: string,
  rest: Partial<ListCase> = {},
): ListCase => ({ route, path: typeof path === 'string' ? () => path : path, items, ...rest })

/** A list in each of its orders. */
export const sorted = (route: string, path: ListCase['path'], items: string, sorts: readonly string[]): ListCase[] =>
  sorts.flatMap((sort) =>
    ['asc', 'desc'].map((direction) => ({
      route,
      name: `${route} by ${sort}${direction === 'asc' ? '' : ', descending'}`,
      path: (ids: ListIds) => {
        const base = path(ids)
        return `${base}${base.includes('?') ? '&' : '?'}sortBy=${sort}&sortDir=${direction}`
      },
      items,
      otherFilter: { sortDir: direction === 'asc' ? 'desc' : 'asc' },
    })),
  )
