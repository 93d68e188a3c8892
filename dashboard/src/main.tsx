import './styles.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { UiGallery } from '#dashboard/src/ui/gallery/ui-gallery.tsx'
import { applyCspNonce } from '#dashboard/src/ui/csp-nonce.ts'

applyCspNonce()
const root = document.querySelector('#root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>{location.pathname.startsWith('/ui') ? <UiGallery /> : <p>Mailstead</p>}</StrictMode>,
  )
