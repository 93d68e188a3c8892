import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Logo } from './logo.tsx'

interface SignInLayoutProps {
  readonly title: string
  readonly text?: string
  readonly children: ReactNode
}

/** The page around each step of signing in. */
export function SignInLayout({ title, text, children }: SignInLayoutProps): ReactNode {
  const { shell } = useTexts()
  return (
    <main className="flex min-h-dvh items-start justify-center bg-background px-4 py-12 sm:items-center">
      <div className="flex w-full max-w-sm flex-col gap-6">
        <div className="flex items-center gap-2.5">
          <Logo />
          <span className="text-lg font-semibold tracking-tight">{shell.product}</span>
        </div>
        <div className="flex flex-col gap-5 rounded-lg border border-line bg-surface p-6 shadow-sm">
          <div className="flex flex-col gap-1.5">
            <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
            {text !== undefined && <p className="text-muted">{text}</p>}
          </div>
          {children}
        </div>
      </div>
    </main>
  )
}
