/** Everything around the router: queries, language, toasts, and what is shown when a page fails. */
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider, type AnyRouter } from '@tanstack/react-router'
import { useEffect, useState, type ReactNode } from 'react'
import { setErrorLanguage } from '#dashboard/src/api/endpoint.ts'
import { ActionErrorContext, createQueryClient } from '#dashboard/src/api/queries.ts'
import { LanguageProvider, useLanguage, useTexts } from '#dashboard/src/texts/language.tsx'
import { sayError, sayServerText } from '#dashboard/src/texts/server-text.ts'
import { ErrorState } from '#dashboard/src/ui/error-state.tsx'
import { ToastProvider, useToast } from '#dashboard/src/ui/toast.tsx'
import { LinkBehaviour } from '#dashboard/src/ui/ui-link.tsx'
import { UiTexts } from '#dashboard/src/ui/ui-texts.ts'
import { ErrorBoundary } from './error-boundary.tsx'

export function App({ router }: { readonly router: AnyRouter }): ReactNode {
  const [client] = useState(createQueryClient)
  return (
    <QueryClientProvider client={client}>
      <LanguageProvider>
        <Services router={router}>
          <RouterProvider router={router} />
        </Services>
      </LanguageProvider>
    </QueryClientProvider>
  )
}

function Services({ router, children }: { readonly router: AnyRouter; readonly children: ReactNode }): ReactNode {
  const { shell, ui, server } = useTexts()
  const { language } = useLanguage()
  useEffect(
    () =>
      setErrorLanguage({
        sayError: (code, message, translation) => sayError({ server, language }, { code, message, translation }),
        sayDetail: (message, translation) => sayServerText({ server, language }, message, translation),
      }),
    [server, language],
  )
  return (
    <UiTexts value={ui}>
      <LinkBehaviour value={(href) => router.history.push(href)}>
        <ToastProvider>
          <ActionErrors>
            <ErrorBoundary
              fallback={
                <ErrorState
                  title={shell.crashed}
                  text={shell.crashedText}
                  onRetry={() => globalThis.location.reload()}
                />
              }
            >
              {children}
            </ErrorBoundary>
          </ActionErrors>
        </ToastProvider>
      </LinkBehaviour>
    </UiTexts>
  )
}

/** An action that handles no error of its own shows it as a toast. */
function ActionErrors({ children }: { readonly children: ReactNode }): ReactNode {
  const toast = useToast()
  return (
    <ActionErrorContext value={({ message }) => toast({ title: message, tone: 'danger' })}>
      {children}
    </ActionErrorContext>
  )
}
