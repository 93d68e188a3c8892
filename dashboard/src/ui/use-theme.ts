/** The theme a person chose in this browser. `public/assets/theme.js` applies it before the first paint. */
import { useCallback, useSyncExternalStore } from 'react'
import { useMediaQuery } from './use-media-query.ts'

export type Theme = 'light' | 'dark' | 'system'

const KEY = 'mailstead.theme'
const listeners = new Set<() => void>()

function readTheme(): Theme {
  const { theme } = document.documentElement.dataset
  return theme === 'dark' || theme === 'light' ? theme : 'system'
}

function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  try {
    if (theme === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // without storage the theme lasts as long as the page
  }
  for (const listener of listeners) listener()
}

export function useTheme(): { theme: Theme; isDark: boolean; setTheme: (theme: Theme) => void } {
  const subscribe = useCallback((onChange: () => void) => {
    listeners.add(onChange)
    return () => listeners.delete(onChange)
  }, [])
  const theme = useSyncExternalStore(subscribe, readTheme)
  const isSystemDark = useMediaQuery('(prefers-color-scheme: dark)')
  return { theme, isDark: theme === 'dark' || (theme === 'system' && isSystemDark), setTheme }
}
