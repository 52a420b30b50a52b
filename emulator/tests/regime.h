/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which translation regime the program tests: EL=1, EL=2 (VHE=0 or 1), EL=3. */
#ifndef REGIME_H
#define REGIME_H

#ifndef VHE
#define VHE	0
#endif

#define TEXT_(x)	#x
#define TEXT(x)		TEXT_(x)

/* With HCR_EL2.E2H the EL1 names reach the EL2 registers. */
#if EL == 1 || VHE
#define VBAR	vbar_el1
#define ESR	esr_el1
#define FAR	far_el1
#define ELR	elr_el1
#define SPSR	spsr_el1
#define SCTLR	sctlr_el1
#define TCR	tcr_el1
#define TTBR0	ttbr0_el1
#define MAIR	mair_el1
#define POR	s3_0_c10_c2_4
#define PIR	s3_0_c10_c2_3
#define PIRE0	s3_0_c10_c2_2
#define TCR2	s3_0_c2_c0_3
#elif EL == 2
#define VBAR	vbar_el2
#define ESR	esr_el2
#define FAR	far_el2
#define ELR	elr_el2
#define SPSR	spsr_el2
#define SCTLR	sctlr_el2
#define TCR	tcr_el2
#define TTBR0	ttbr0_el2
#define MAIR	mair_el2
#define POR	s3_4_c10_c2_4
#define PIR	s3_4_c10_c2_3
#define TCR2	s3_4_c2_c0_3
#else
#define VBAR	vbar_el3
#define ESR	esr_el3
#define FAR	far_el3
#define ELR	elr_el3
#define SPSR	spsr_el3
#define SCTLR	sctlr_el3
#define TCR	tcr_el3
#define TTBR0	ttbr0_el3
#define MAIR	mair_el3
#define POR	s3_6_c10_c2_4
#define PIR	s3_6_c10_c2_3
#endif

/* HCR_EL2: RW, and E2H with TGE for the EL2&0 regime */
#if VHE
#define HCR_VALUE	((1 << 31) | (1 << 34) | (1 << 27))
#else
#define HCR_VALUE	(1 << 31)
#endif

#define POR_EL0		s3_3_c10_c2_4
#define TCR2_EL1	s3_0_c2_c0_3
#define POR_EL1		s3_0_c10_c2_4
#define PIR_EL1		s3_0_c10_c2_3
#define PIRE0_EL1	s3_0_c10_c2_2
#define PIR_EL2		s3_4_c10_c2_3
#define PIRE0_EL2	s3_4_c10_c2_2
#define PIR_EL12	s3_5_c10_c2_3
#define PIRE0_EL12	s3_5_c10_c2_2
#define ID_AA64MMFR3	s3_0_c0_c7_3

#endif
