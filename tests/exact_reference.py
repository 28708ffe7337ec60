"""The determinant formulas in plain high-precision arithmetic: slow, naive, and independent of how heatgp sums them.

Coinciding angles are told apart by 1e-20 and the digits lost to the quotient 0/0 are added to the precision.
"""

import mpmath as mp
import numpy as np


def spread(theta):
    return [mp.mpf(float(x)) + mp.mpf(10) ** -20 * (i + 1) ** 2 for i, x in enumerate(theta)]


def digits(zeros, growth):
    """Twenty for every factor 1e-20 of the denominator, and what long times cancel: the prefactor exp(growth)."""
    return int(60 + 20 * zeros + growth)


def modes(rate):
    return int(mp.sqrt(120 / rate)) + 12


def in_time(kernel, time, slope):
    """The kernel at the time, or its derivative there: a central difference whose error is 1e-24 of its size."""
    time = mp.mpf(time)
    step = time * mp.mpf(10) ** -12
    return (kernel(time + step) - kernel(time - step)) / (2 * step) if slope else kernel(time)


def orthogonal(n, time, theta, slope=False):
    """SO(n): det[sum_l l^.. sin or cos(l theta_b) exp(-t l^2 / 2)] / det[sin or cos(rho_a theta_b)]."""
    r, odd = n // 2, n % 2
    with mp.workdps(digits(r**2, time * n**3 / 48)):
        theta, rho = spread(theta), [mp.mpf(n) / 2 - a for a in range(1, r + 1)]
        wave = mp.sin if odd else mp.cos
        levels = [mp.mpf(k) + mp.mpf(odd) / 2 for k in range(modes(mp.mpf(time) / 2))]
        waves = [[wave(x * angle) * (2 if x else 1) for x in levels] for angle in theta]
        below = mp.det(mp.matrix([[2 * wave(a * b) if a else mp.mpf(1) for b in theta] for a in rho]))
        scale = mp.fprod(rho if odd else [1]) * mp.fprod(a**2 - b**2 for i, a in enumerate(rho) for b in rho[i + 1 :])
        volume = mp.fprod(2 * mp.pi ** (mp.mpf(m) / 2) / mp.gamma(mp.mpf(m) / 2) for m in range(2, n + 1))

        def kernel(t):
            decay = [mp.exp(-t * x**2 / 2) for x in levels]
            rows = [[x ** (2 * (r - a) + odd) * d for x, d in zip(levels, decay)] for a in range(1, r + 1)]
            above = mp.det(mp.matrix([[mp.fdot(row, column) for column in waves] for row in rows]))
            return mp.exp(t * mp.fdot(rho, rho) / 2) * above / (below * scale * volume)

        return in_time(kernel, time, slope)


def unitary(n, time, theta, slope=False):
    """U(n): det[sum_l l^(n-a) exp(i l theta_b - t l^2)] / det[exp(i rho_a theta_b)]."""
    with mp.workdps(digits(n * (n - 1) / 2, time * n**3 / 12)):
        theta, rho = spread(theta), [mp.mpf(n + 1) / 2 - a for a in range(1, n + 1)]
        most = modes(mp.mpf(time))
        levels = [mp.mpf(k) + mp.frac(rho[0]) for k in range(-most, most)]
        waves = [[mp.expj(x * angle) for x in levels] for angle in theta]
        below = mp.det(mp.matrix([[mp.expj(a * b) for b in theta] for a in rho]))
        volume = (2 * mp.pi) ** (mp.mpf(n * (n + 1)) / 2) / mp.mpf(2) ** (mp.mpf(n * n) / 2)

        def kernel(t):
            decay = [mp.exp(-t * x**2) for x in levels]
            rows = [[x ** (n - a) * d for x, d in zip(levels, decay)] for a in range(1, n + 1)]
            above = mp.det(mp.matrix([[mp.fdot(row, column) for column in waves] for row in rows]))
            return mp.re(mp.exp(t * mp.fdot(rho, rho)) * above / (below * volume))

        return in_time(kernel, time, slope)


def grassmannian(n, k, time, theta, slope=False):
    """Complex Gr(n, k): det[sum_l (2l + a + 1) lambda_l^b exp(-lambda_l t/2) P_l(x_i) P_l(1)], P^(a, 0), a = n - 2k."""
    a = n - 2 * k
    with mp.workdps(digits(k**2, time * (k**3 + a * k**2))):
        x = [mp.cos(2 * angle) for angle in spread(theta)]
        levels = range(modes(2 * mp.mpf(time)))
        rate = [mp.mpf(4 * j * (j + a + 1)) for j in levels]
        columns = [[mp.jacobi(j, a, 0, y) for j in levels] for y in x]
        weight = [(2 * j + a + 1) * mp.binomial(j + a, j) for j in levels]
        below = mp.fprod(x[j] - x[i] for i in range(k) for j in range(i + 1, k))
        # at long times the first k levels are left: Vandermonde of the rates, leading coefficients of the P_l
        scale = mp.fprod(weight[j] * mp.binomial(2 * j + a, j) / mp.mpf(2) ** j for j in range(k))
        scale *= mp.fprod(rate[j] - rate[i] for i in range(k) for j in range(i + 1, k))
        volume = mp.pi ** (k * (n - k)) * mp.fprod(mp.factorial(i - 1) / mp.factorial(n - i) for i in range(1, k + 1))

        def kernel(t):
            terms = [w * mp.exp(-r * t / 2) for w, r in zip(weight, rate)]
            rows = [[w * r**b for w, r in zip(terms, rate)] for b in range(k)]
            above = mp.det(mp.matrix([[mp.fdot(row, column) for column in columns] for row in rows]))
            return mp.exp(t * mp.fsum(rate[:k]) / 2) * above / (below * scale * volume)

        return in_time(kernel, time, slope)


def rank_one(alpha, beta, speed, time, distances, precision=60):
    """log p_t(o, o), and the ratios p_t / p_t(o, o): the sum of Jacobi polynomials over all eigenvalues."""
    with mp.workdps(precision):
        a, b, t = mp.mpf(alpha), mp.mpf(beta), mp.mpf(time)
        nu = a + b + 1
        v = [2 * mp.sin(speed * mp.mpf(float(r)) / 2) ** 2 for r in distances]
        value, step, total = [mp.mpf(1)] * len(v), [mp.mpf(0)] * len(v), [mp.mpf(0)] * len(v)
        dimension, peak, largest, k = mp.mpf(1), mp.mpf(0), mp.mpf(0), 0
        while True:
            weight = dimension * mp.exp(-(speed**2) * k * (k + nu) * t / 2)
            peak += weight
            total = [x + weight * y for x, y in zip(total, value)]
            if weight < largest and weight < peak * mp.mpf(10) ** -precision:
                break
            largest = max(largest, weight)
            if k == 0:
                up, down, dimension = 2 * (a + 1) / (nu + 1), mp.mpf(0), (nu + 2) * (a + 1) / (b + 1)
            else:
                up = 2 * (k + nu) * (k + a + 1) / ((2 * k + nu) * (2 * k + nu + 1))
                down = 2 * k * (k + b) / ((2 * k + nu - 1) * (2 * k + nu))
                dimension *= (2 * k + 2 + nu) / (2 * k + nu) * (k + nu) * (k + a + 1) / ((k + 1) * (k + b + 1))
            step = [(down * s - x * y) / up for s, x, y in zip(step, v, value)]
            value = [y + s for y, s in zip(value, step)]
            k += 1
        log_volume = (a + 1) * mp.log(4 * mp.pi / speed**2) + mp.loggamma(b + 1) - mp.loggamma(a + b + 2)
        return mp.log(peak) - log_volume, [x / peak for x in total]


def scaled_log(found, expected):
    """The difference of logarithms, relative to their size where that is above one."""
    return float(abs(mp.mpf(float(found)) - expected) / max(1, abs(expected)))


def hard_angles(rank, time, end, rng, low=0.0):
    """Identity, far corner, coinciding and nearly coinciding angles near the identity, the middle and the end."""
    short = min(np.sqrt(time), 0.5 * end)
    rows = [np.zeros(rank), np.full(rank, end), np.full(rank, short), np.full(rank, 0.4 * end)]
    for gap in (1e-12, 1e-7, 1e-4, 1e-2):
        rows += [gap * rng.random(rank), end - gap * rng.random(rank), short + gap * rng.random(rank)]
    rows += [rng.uniform(low, end, rank), 2 * short * rng.random(rank)]
    rows += [np.r_[end, np.zeros(rank - 1)], np.r_[[1.3 * short] * min(rank, 2), rng.uniform(low, end, rank)][:rank]]
    return np.clip(rows, low, end)


def assert_agrees(profile, reference, time, theta, slopes, tolerance=1e-12):
    """Values and the first slopes against the reference, in units of p_t(x, x) and p_t(x, x) / t."""
    kernel = profile.at(time)
    scale = float(reference(time, np.zeros(theta.shape[1])))
    expected = np.array([float(reference(time, x)) for x in theta])
    np.testing.assert_allclose(kernel(theta) / scale, expected / scale, rtol=0, atol=tolerance)
    expected = np.array([float(reference(time, x, slope=True)) for x in theta[:slopes]])
    scale /= time
    np.testing.assert_allclose(kernel.slope(theta[:slopes]) / scale, expected / scale, rtol=0, atol=20 * tolerance)


def chamber_quadrature(rank, low, high, nodes):
    """Gauss-Legendre nodes (nodes^rank, rank) and weights on the cube."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    x, w = low + (high - low) * (x + 1) / 2, w * (high - low) / 2
    grid = np.stack(np.meshgrid(*[x] * rank, indexing="ij"), axis=-1).reshape(-1, rank)
    return grid, np.prod(np.stack(np.meshgrid(*[w] * rank, indexing="ij"), axis=-1), axis=-1).ravel()


def hyperbolic(n, time, r, slope=False):
    """H^n by derivatives of exp(-r²/2t) in u = cosh r, of order m for n = 2m + 1; by their integral for n = 2m.

    For n = 2 it is McKean's (1970), in w with cosh s = cosh r + w² and w = sinh y.
    """
    m = n // 2
    with mp.workdps(40):
        r = mp.mpf(float(r))
        u = mp.cosh(r)

        def kernel(t):
            def derivative(at):  # over exp(-r²/2t)
                return (-1) ** m * mp.re(mp.diff(lambda x: mp.exp((r**2 - mp.acosh(x) ** 2) / (2 * t)), at, m))

            scale = mp.exp(-(r**2) / (2 * t)) / (mp.sqrt(2 * mp.pi * t) * (2 * mp.pi) ** m)
            if n % 2:
                return scale * mp.exp(-mp.mpf(m * m) / 2 * t) * derivative(u)
            far = mp.sqrt(r**2 + 200 * t)
            end = mp.asinh(mp.sqrt(mp.cosh(far) - u))
            whole = mp.quad(lambda y: derivative(u + mp.sinh(y) ** 2) * mp.cosh(y), mp.linspace(0, end, 9), maxdegree=5)
            return scale * 2 * mp.sqrt(2) * mp.exp((mp.mpf(4 * m - 1) / 8 - mp.mpf(m * m) / 2) * t) * whole

        return in_time(kernel, time, slope)


def hyperbolic_waves(n, time, r):
    """H^n by its spherical functions: the integral of exp(-(l² + rho²) t/2) phi_l(r) / |c(l)|² over l > 0.

    Reference: Helgason (1984), ch. IV; phi_l is a hypergeometric function of -sinh² r.
    """
    rho = mp.mpf(n - 1) / 2
    with mp.workdps(40):
        z, t = -(mp.sinh(mp.mpf(float(r))) ** 2), mp.mpf(time)

        def wave(level):
            a = mp.mpc(rho, level) / 2
            density = abs(mp.gamma(mp.mpc(rho, level)) / mp.gamma(mp.mpc(0, level))) ** 2
            phi = mp.re(mp.hyp2f1(a, mp.conj(a), mp.mpf(n) / 2, z))
            return mp.exp(-(level**2 + rho**2) * t / 2) * phi * density

        whole = mp.quad(wave, mp.linspace(mp.mpf(10) ** -30, mp.sqrt(180 / t), 13))
        return 2 * whole / ((4 * mp.pi) ** (mp.mpf(n) / 2) * mp.gamma(mp.mpf(n) / 2))


def hermitian(h, time):
    """The closed form in 40 digits. Reference: Gangolli (1968), Acta Math. 121, 151-192."""
    n = len(h)
    with mp.workdps(40):
        h, t = [mp.mpf(float(x)) for x in h], mp.mpf(time)
        gaps = [(h[i] - h[j]) / 2 for i in range(n) for j in range(i)]
        sines = mp.fprod(a / mp.sinh(a) if a else mp.mpf(1) for a in gaps)
        exponent = -mp.fdot(h, h) / (2 * t) - mp.mpf(n * (n * n - 1)) * t / 24
        return (2 * mp.pi * t) ** (-mp.mpf(n * n) / 2) * sines * mp.exp(exponent)


def symmetric_two(h, time):
    """The line of determinants times the hyperbolic plane with distances times √2."""
    with mp.workdps(40):
        t, total = mp.mpf(time), mp.mpf(float(h[0])) + mp.mpf(float(h[1]))
        line = mp.exp(-(total**2) / (4 * t)) / mp.sqrt(2 * mp.pi * t)
        return line * hyperbolic(2, time / 2, abs(mp.mpf(float(h[0])) - mp.mpf(float(h[1]))) / 2) / 2
