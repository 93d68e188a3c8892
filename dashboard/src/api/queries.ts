/**
 * How pages read and change data: TanStack Query over the generated endpoints. A page keeps no copy of what the server
 * has; a change of the server invalidates what shows it (`changes.ts`), and an action invalidates what it changed.
 *
 * Keys begin with the path of the endpoint, so that all queries of a subject are invalidated by a prefix of it.
 */
import {
  QueryClient,
  type Query,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { ApiError, send, type Endpoint } from './endpoint.ts'

/** The workspace that the page shows; null outside of workspaces. */
export const WorkspaceContext = createContext<string | null>(null)

const MAX_RETRIES = 2

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 15_000,
        gcTime: 10 * 60_000,
        retry: (count, error) => count < MAX_RETRIES && isWorthRetrying(error),
        retryDelay: (count, error) =>
          error instanceof ApiError && error.retryAfter !== null ? error.retryAfter * 1000 : 500 * 2 ** count,
      },
      mutations: { retry: false },
    },
  })
}

/** Requests that only read are repeated when the server was away, is busy, or could not be reached. */
function isWorthRetrying(error: unknown): boolean {
  return error instanceof ApiError && [0, 429, 502, 503, 504].includes(error.status)
}

interface ReadOptions {
  /** False: the query waits, for example for an input that is not complete. */
  readonly isEnabled?: boolean
  /** The former answer stays visible while the next one is loaded, for example the list of another filter. */
  readonly keepsPrevious?: boolean
  /** How long an answer counts as current, in ms. */
  readonly staleMs?: number
}

/** Reads one endpoint. */
export function useApi<Input, Output>(
  endpoint: Endpoint<Input, Output>,
  input: Input,
  { isEnabled = true, keepsPrevious = false, staleMs }: ReadOptions = {},
): UseQueryResult<Output, ApiError> {
  const workspaceId = useScope(endpoint)
  return useQuery<Output, ApiError>({
    queryKey: keyOf(endpoint, workspaceId, input),
    queryFn: ({ signal }) => send(endpoint, input, { workspaceId, signal }),
    enabled: isEnabled,
    ...(staleMs === undefined ? {} : { staleTime: staleMs }),
    ...(keepsPrevious ? { placeholderData: (previous: Output | undefined) => previous as never } : {}),
  })
}

interface ListOptions<Output, Item> extends ReadOptions {
  readonly items: (answer: Output) => readonly Item[]
  /** The cursor of the next page; null after the last one. */
  readonly nextCursor: (answer: Output) => string | null | undefined
}

export interface ApiList<Item, Output> {
  readonly items: readonly Item[]
  /** Of the first page, for totals. Undefined while it is loaded. */
  readonly first: Output | undefined
  readonly hasMore: boolean
  /** Loads the next page, unless it is being loaded or there is none. */
  readonly loadMore: () => void
  readonly query: UseInfiniteQueryResult<InfiniteData<Output>, ApiError>
}

/** Reads a list page by page. The input has no cursor; the hook adds it to the query. */
export function useApiList<Input extends { readonly query?: object }, Output, Item>(
  endpoint: Endpoint<Input, Output>,
  input: Input,
  { items, nextCursor, isEnabled = true, keepsPrevious = false }: ListOptions<Output, Item>,
): ApiList<Item, Output> {
  const workspaceId = useScope(endpoint)
  const query = useInfiniteQuery<Output, ApiError, InfiniteData<Output>, readonly unknown[], string>({
    queryKey: [...keyOf(endpoint, workspaceId, input), 'list'],
    queryFn: ({ pageParam, signal }) =>
      send(endpoint, { ...input, query: { ...input.query, cursor: pageParam } }, { workspaceId, signal }),
    // an empty cursor asks for the first page of a list that is read by cursors
    initialPageParam: '',
    getNextPageParam: (last: Output) => nextCursor(last) ?? null,
    enabled: isEnabled,
    ...(keepsPrevious ? { placeholderData: (previous: unknown) => previous as never } : {}),
  })
  const pages = query.data?.pages ?? []
  return {
    items: pages.flatMap((page) => [...items(page)]),
    first: pages[0],
    hasMore: query.hasNextPage,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage()
    },
    query,
  }
}

interface ActionOptions<Output, Input> {
  /** Beginnings of the paths whose queries show what the action changes; below /api/v1. */
  readonly invalidates?: readonly string[]
  readonly onSuccess?: (answer: Output, input: Input) => void
  /** By default the error is reported by `onActionError` of the provider (a toast). */
  readonly onError?: (error: ApiError) => void
}

/** What happens with the error of an action that has no `onError`. The shell shows a toast. */
export const ActionErrorContext = createContext<(error: ApiError) => void>(() => undefined)

/** Sends a request that changes something: `mutate(input)`. */
export function useAction<Input, Output>(
  endpoint: Endpoint<Input, Output>,
  { invalidates = [], onSuccess, onError }: ActionOptions<Output, Input> = {},
): UseMutationResult<Output, ApiError, Input> {
  const client = useQueryClient()
  const workspaceId = useScope(endpoint)
  const report = useContext(ActionErrorContext)
  return useMutation<Output, ApiError, Input>({
    mutationFn: (input) => send(endpoint, input, { workspaceId }),
    onSuccess: async (answer, input) => {
      onSuccess?.(answer, input)
      await invalidatePaths(client, invalidates)
    },
    onError: onError ?? report,
  })
}

/** Fetches again what is shown of these subjects, and marks the rest as outdated. */
export async function invalidatePaths(client: QueryClient, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  await invalidate(
    client,
    ({ queryKey: [path] }) => typeof path === 'string' && paths.some((prefix) => path.startsWith(`/api/v1${prefix}`)),
  )
}

/**
 * A request that is under way may have been answered before the change, so its query is fetched once more after it. It
 * is never cancelled: while changes keep coming, a slow server would never be asked to the end.
 */
export async function invalidate(client: QueryClient, predicate: (query: Query) => boolean): Promise<void> {
  const underWay = new Set(client.getQueryCache().findAll({ predicate, fetchStatus: 'fetching' }))
  await client.invalidateQueries({ predicate }, { cancelRefetch: false })
  if (underWay.size > 0)
    await client.invalidateQueries({ predicate: (query) => underWay.has(query) }, { cancelRefetch: false })
}

/** The workspace of a request; null if the endpoint belongs to none. */
export function useScope({ scope }: Pick<Endpoint<unknown, unknown>, 'scope'>): string | null {
  const workspaceId = useContext(WorkspaceContext)
  return scope === 'workspace' ? workspaceId : null
}

export function keyOf<Input, Output>(
  { path }: Endpoint<Input, Output>,
  workspaceId: string | null,
  input: Input,
): readonly unknown[] {
  return [path, workspaceId, input]
}
