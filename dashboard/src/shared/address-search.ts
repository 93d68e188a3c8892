/** What the address of a page says after its `?`: filters, tabs, selections. A page keeps such a state nowhere else. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'

export type AddressSearch = Readonly<Record<string, string>>
/** Undefined and empty values are removed from the address. */
type ChangeSearch = (change: Readonly<Record<string, string | undefined>>) => void

/** `[search, change]`. A change replaces the entry in the history, so that Back leaves the page. */
export function useAddressSearch(): [AddressSearch, ChangeSearch] {
  const given: Record<string, unknown> = useSearch({ strict: false })
  const navigate = useNavigate()
  const search = useMemo(
    () => Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)])),
    [given],
  )
  const change = useCallback<ChangeSearch>(
    (changed) => {
      const merge = (old: Record<string, unknown>): Record<string, unknown> =>
        Object.fromEntries(
          Object.entries({ ...old, ...changed }).filter(([, value]) => value !== undefined && value !== ''),
        )
      void navigate({ to: '.', search: merge, replace: true })
    },
    [navigate],
  )
  return [search, change]
}
